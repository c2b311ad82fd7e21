"""What a release is made of: its locked packages, their licences and known vulnerabilities."""
