"""Repositories at one commit, packed into one file each and kept on disk and in S3."""
