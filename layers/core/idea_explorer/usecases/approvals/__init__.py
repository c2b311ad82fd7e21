"""Approvals: ask a person about a change, take the decision, apply it, and wait for it."""
