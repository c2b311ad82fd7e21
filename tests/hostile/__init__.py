"""Hostile input for every surface that meets what strangers write: `make hostile`."""
