"""What each language imports, in one form: path segments, and how many folders up they begin."""

import re
from dataclasses import replace

from idea_explorer.domain.dataclass import dataclass

MAX_EXCERPT = 200  # characters of a signature or statement
MAX_USE = 4_000  # characters of Rust's `use`: what is before its braces is repeated for each leaf
MAX_NAMES = 20  # of a dotted name
# endings that an import may leave out or change
_ENDINGS = re.compile(
    r"\.(d\.ts|py|pyi|pyw|js|jsx|mjs|cjs|ts|tsx|mts|cts|vue|svelte|json|css|scss|less"
    r"|go|rs|java|kt|c|h|cc|cpp|hpp|rb|php)$"
)
# files that stand for their folder
_FOLDER_FILE = re.compile(r"(^|/)(__init__\.pyi?|mod\.rs|index(\.(d\.ts|[cm]?[jt]sx?|vue|json))?)$")
_RUST_MODULE = re.compile(r"\bmod\s+(?:r#)?(\w+)\s*;$")
_UPWARDS = re.compile(r"(?:\.{1,2}(?:/|$))+")


@dataclass(frozen=True, slots=True)
class ModuleReference:
    """An imported module, and the symbol imported from it, if any, with its alias. `spec` is a path or the
    name of a package as it is written, in languages that import those."""

    module: str
    level: int = 0
    symbol: str = ""
    alias: str = ""
    spec: str = ""


def module_segments(path: str) -> list[str]:
    """A path without its ending, and without the file that stands for its folder."""
    bare = _ENDINGS.sub("", _FOLDER_FILE.sub("", path))
    return [segment for segment in bare.split("/") if segment not in {"", ".", ".."}]


def has_ending(path: str) -> bool:
    return _ENDINGS.search(path) is not None


def path_module(text: str) -> list[ModuleReference]:
    """`./a/b.js`, `../x.h`, `package`."""
    spec = _unquoted(text)
    upwards = _UPWARDS.match(spec)
    if upwards is None:
        return [ModuleReference("/".join(module_segments(spec)), spec=spec)]
    steps = [step for step in upwards[0].split("/") if step]
    inner = "/".join(module_segments(spec[upwards.end() :]))
    return [ModuleReference(inner, 1 + steps.count(".."), spec=spec)]


def include_file(text: str) -> list[ModuleReference]:
    """`"x.h"` or `<x.h>`: the brackets tell where it is looked for, so they stay."""
    return [replace(named, spec=text.strip()) for named in path_module(text)]


def go_package(text: str) -> list[ModuleReference]:
    return [ModuleReference(_unquoted(text))]


def java_name(text: str) -> list[ModuleReference]:
    """`a.b.C`: C out of a.b. `a.b.C.D.e`: also of C and of D, which are classes by their spelling."""
    names = "".join(text.split()).split(".")[:MAX_NAMES]
    outer = [
        ModuleReference("/".join(names[:end]), symbol=names[end])
        for end in range(1, len(names) - 1)
        if names[end][:1].isupper()
    ]
    return [*outer, ModuleReference("/".join(names[:-1]), symbol=names[-1])]


def namespace_name(text: str) -> list[ModuleReference]:
    """`A.B` in C#, `A\\B` in PHP, or the path of a file."""
    if text[:1] in {'"', "'"}:
        return path_module(text)
    names = text.replace("\\", ".").replace(" ", "").strip(".")
    module, _, symbol = names.rpartition(".")
    return [ModuleReference(module.replace(".", "/"), symbol=symbol)]


def python_module(text: str) -> list[ModuleReference]:
    name = text.strip()
    inner = name.lstrip(".")
    return [ModuleReference(inner.replace(".", "/"), len(name) - len(inner))]


def rust_uses(text: str) -> list[ModuleReference]:
    """`a::b::{C, d as e, f::*}`: each of its leaves. `mod a;`: a file below this one."""
    if submodule := _RUST_MODULE.search(text):
        return [ModuleReference(submodule[1], 1)]
    return [_rust_leaf(leaf) for leaf in _rust_leaves("".join(text[:MAX_USE].split("\n")))]


def _rust_leaves(text: str, depth: int = 0) -> list[str]:
    head, brace, rest = text.partition("{")
    if not brace or depth > 20:
        return [text.strip()]
    inner = rest.rpartition("}")[0]
    leaves = [leaf for part in _split(inner) for leaf in _rust_leaves(part, depth + 1)]
    return [head.strip() + leaf for leaf in leaves if leaf]


def _split(text: str) -> list[str]:
    """At the commas outside of braces."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _rust_leaf(leaf: str) -> ModuleReference:
    path, _, alias = leaf.partition(" as ")
    names = [name.strip().removeprefix("r#") for name in path.split("::")]
    is_whole = names[-1] in {"*", "self"}  # the module itself, not a symbol of it
    level = names.count("super") + 1 if names[0] in {"self", "super"} else 0
    segments = [name for name in names if name not in {"", "self", "super", "*"}]
    if is_whole or (len(segments) < 2 and not level):
        return ModuleReference("/".join(segments), level, alias=alias.strip())
    symbol = segments[-1] if segments else ""
    return ModuleReference("/".join(segments[:-1]), level, symbol, alias.strip())


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'`<>")


def shorten(source: bytes) -> str:
    """Source code on one line, cut if it is long."""
    text = " ".join(source[: MAX_EXCERPT * 8].decode("utf-8", "replace").split())
    return text if len(text) <= MAX_EXCERPT else f"{text[:MAX_EXCERPT]}…"
