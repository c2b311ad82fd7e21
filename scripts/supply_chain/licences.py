"""The licences of what is released, by the metadata of the installed packages."""

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata

from scripts.supply_chain.locks import LAYERS, RUNTIME, LockedPackage, read_layer, read_lock

# They ask for no more than that their text is passed on; MPL-2.0 asks for changes to its own files.
ALLOWED = frozenset(
    "0BSD Apache-2.0 Artistic-1.0-Perl BSD-2-Clause BSD-3-Clause ISC MIT MIT-0 MPL-2.0 PSF-2.0 Zlib".split()
)
# Packages that state no SPDX expression.
BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Metadata that is missing, or says less than the package's licence file.
BY_NAME = {
    # PDFium is built from libraries with notices of their own, all of them permissive; the package has them
    "pypdfium2": "Apache-2.0 AND BSD-3-Clause",
    "text-unidecode": "Artistic-1.0-Perl OR GPL-2.0-or-later",
}


class LicenceError(Exception):
    """A licence that is not known or not allowed."""


def find_licence(name: str) -> str:
    """The SPDX expression of an installed package. Raises LicenceError if it states none that is known."""
    if name in BY_NAME:
        return BY_NAME[name]
    try:
        found = metadata(name)
    except PackageNotFoundError:
        raise LicenceError(f"{name} is not installed here. Run 'make setup'.") from None
    if "License-Expression" in found:
        return found["License-Expression"]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in found.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    known = sorted({BY_CLASSIFIER[name] for name in classifiers if name in BY_CLASSIFIER})
    if known:
        return " OR ".join(known)
    stated = found["License"].strip() if "License" in found else ""
    if stated in ALLOWED or f"{stated} License" in BY_CLASSIFIER:
        return BY_CLASSIFIER.get(f"{stated} License", stated)
    raise LicenceError(f"{name} states no licence that is known. Add it to BY_NAME in licences.py.")


def is_allowed(expression: str) -> bool:
    """Whether one of the licences that an expression offers is allowed, with all that it demands."""
    if "(" in expression:
        return all(
            part in ALLOWED for part in re.findall(r"[\w.+-]+", expression) if part not in _WORDS
        )
    return any(
        all(part.strip() in ALLOWED for part in offer.split(" AND "))
        for offer in expression.split(" OR ")
    )


_WORDS = {"AND", "OR", "WITH"}


def released_packages() -> dict[str, tuple[LockedPackage, str]]:
    """By name: every package of a layer, or of the command line only, and where it is used. Those of other
    systems than Linux are left out."""
    found = {p.name: (p, layer) for layer in LAYERS for p in read_layer(layer)}
    for package in read_lock(RUNTIME):
        found.setdefault(package.name, (package, "command line"))
    return {name: found[name] for name in sorted(found) if found[name][0].is_for_linux}


def check_licences(names: Iterable[str]) -> dict[str, str]:
    """The licence of each package. Raises LicenceError with all that are not allowed."""
    licences = {name: find_licence(name) for name in names}
    refused = [f"{name} ({text})" for name, text in licences.items() if not is_allowed(text)]
    if refused:
        raise LicenceError(f"These licences are not allowed: {', '.join(refused)}.")
    return licences


def render_licences() -> str:
    """docs/licences.md."""
    packages = released_packages()
    licences = check_licences(packages)
    rows = [
        f"| {name} | {package.version} | {licences[name]} | {place} |"
        for name, (package, place) in packages.items()
    ]
    return "\n".join([HEAD, *rows, "", ICONS])


HEAD = """# Licences of third-party packages

Written by `make licences`. Layers are those of the Lambda functions; the command line installs all packages.
The console consists of our own files, without any library in the browser. Its icons are shapes of Octicons
19.42.0, under the MIT licence, whose text is below.

| package | version | licence | in layer |
|---|---|---|---|"""
ICONS = """## Icons of the console

MIT License

Copyright (c) 2026 GitHub Inc.

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""
