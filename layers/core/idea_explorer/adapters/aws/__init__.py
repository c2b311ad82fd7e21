"""AWS services. boto3 is loaded when the first client is made, not on import."""
