"""The embedded stores: the same contracts as adapters/dynamodb, in SQLite files."""
