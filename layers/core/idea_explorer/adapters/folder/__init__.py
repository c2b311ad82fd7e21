"""A folder on this machine in place of a GitHub repository."""
