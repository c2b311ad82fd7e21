"""Make a changed parameter or template a new release.

The api and explore functions run as the version behind their alias `live`, and SAM publishes a new version
where code, a layer or a property in the template changes. It does not see that the value of a parameter
does: the alias would go on with the old environment. So a file with a hash of template and parameters is
added to the code of each function, between `sam build` and `sam deploy`.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

FILE = "release"


def stamp(build: Path, parameters: Sequence[str]) -> str:
    """Mark the built functions with the hash of their template and parameters; returns it."""
    template = (build / "template.yaml").read_bytes()
    text = b"\0".join([template, *(parameter.encode() for parameter in sorted(parameters))])
    release = hashlib.sha256(text).hexdigest()
    for handler in build.glob("*/app.py"):
        (handler.parent / FILE).write_text(release + "\n", encoding="utf-8")
    return release
