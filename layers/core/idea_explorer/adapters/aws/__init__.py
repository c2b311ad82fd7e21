"""AWS services. botocore is imported when the first client is created, not with these modules."""
