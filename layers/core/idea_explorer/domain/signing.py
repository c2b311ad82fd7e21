"""The key that a webhook's secret stands for."""

import base64

PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """The key of the signatures; raises ValueError for a `whsec_` secret that holds none."""
    if not secret.startswith(PREFIX):
        return secret.encode()
    encoded = secret.removeprefix(PREFIX)
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError as error:
        raise ValueError("after whsec_ comes base64") from error
    if not key:
        raise ValueError("after whsec_ comes base64")
    return key
