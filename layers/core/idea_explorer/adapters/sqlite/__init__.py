"""The embedded stores: the same contracts as adapters/dynamodb, file by file, in SQLite."""
