"""What the product does, one public function per module."""
