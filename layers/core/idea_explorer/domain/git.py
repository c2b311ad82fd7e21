"""Git's own names for contents."""

import hashlib


def blob_sha(content: bytes | memoryview) -> str:
    """The name git gives to this content: equal exactly where the contents are."""
    sha = hashlib.sha1(b"blob %d\x00" % len(content), usedforsecurity=False)
    sha.update(content)
    return sha.hexdigest()
