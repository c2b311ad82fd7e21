"""Explorations, histories and transcripts in one DynamoDB table; what is large lies in the bucket."""
