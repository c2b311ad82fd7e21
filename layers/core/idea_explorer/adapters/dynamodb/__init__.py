"""The deployed stores: one DynamoDB table, and a bucket for what is too large for an item."""
