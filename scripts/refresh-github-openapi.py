"""Writes tests/fakes/github_openapi.json: the part of GitHub's own description that the test GitHub keeps to.

The description is npm's `@octokit/openapi`.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.openapi_extract import Extract, write
from tests.fakes.github_routes import ROUTES

PACKAGE = "@octokit/openapi"
DESCRIPTION = "package/generated/api.github.com.json"


def download() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=sys.stderr
        )
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            file = package.extractfile(DESCRIPTION)
            assert file is not None
            return json.load(file)


def main() -> None:
    write(Extract(download(), PACKAGE).of(list(ROUTES)), "github_openapi.json")


if __name__ == "__main__":
    main()
