"""A folder on this machine instead of a GitHub repository."""
