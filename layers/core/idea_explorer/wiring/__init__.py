"""Puts the parts together: the only package that sees the adapters.

`deps` builds what the use cases work with. An adapter is imported when it is first needed.
"""
