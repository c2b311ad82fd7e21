"""Files as git knows them."""

import hashlib


def blob_sha(content: bytes | memoryview) -> str:
    """Git's hash of a file's content."""
    sha = hashlib.sha1(b"blob %d\x00" % len(content), usedforsecurity=False)
    sha.update(content)
    return sha.hexdigest()
