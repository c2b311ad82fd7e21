"""Idea Explorer: a bounded research agent whose reports land in a repository."""

__version__ = "0.1.0"
