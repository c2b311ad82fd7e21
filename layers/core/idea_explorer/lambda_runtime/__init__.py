"""What the Lambda functions share: parsing their events, and their dependencies."""
