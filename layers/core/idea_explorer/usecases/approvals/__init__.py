"""Approvals: request a decision on a change, wait for it, store it, and apply it."""
