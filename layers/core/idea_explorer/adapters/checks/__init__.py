"""Runs a repository's own checks on this machine, isolated and within limits."""
