"""AWS services. boto3 is imported when the first client is created, not with these modules."""
