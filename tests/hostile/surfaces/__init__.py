"""Everything that meets text of strangers, each with the rules that must hold whatever it says.

A surface is a context manager: it sets up what it needs in a folder, and yields a function that takes one
hostile string. That function raises AssertionError if a rule is broken. Any exception other than those
that the surface itself expects is a failure too.
"""

from tests.hostile.surfaces import documents, files, interfaces, names, peers
from tests.hostile.surfaces.base import SURFACES, Check, Surface

__all__ = ["SURFACES", "Check", "Surface", "documents", "files", "interfaces", "names", "peers"]
