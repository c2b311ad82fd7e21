"""Imports of Rust by building the tree of modules as the compiler does: from the root of each crate along its
`mod` items. Paths are read with a small tokenizer of its own."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|b?"(?:[^"\\]|\\.)*"|b?\'(?:[^\'\\\n]|\\[^\n]{1,8})\''
    r"|[A-Za-z_]\w*|::|[{}();,*#\[\]!=<>]|\S",
    re.DOTALL,
)


@dataclass
class Module:
    file: str
    folder: str
    parent: "Module | None" = None
    children: dict[str, "Module"] = field(default_factory=dict)
    uses: list[tuple[list[str], str, bool]] = field(default_factory=list)  # path, name, passed on
    names: set[str] = field(default_factory=set)


def read_uses(root: Path) -> set[tuple[str, str]]:
    crates: dict[str, Module] = {}
    roots: list[Module] = []
    for manifest in sorted(root.rglob("Cargo.toml")):
        described = tomllib.loads(manifest.read_text())
        folder = manifest.parent
        files = {folder / "src/lib.rs", folder / "src/main.rs", folder / "build.rs"}
        package = described.get("package", {})
        for place in ("src/bin", "tests", "examples", "benches"):
            if package.get(f"auto{Path(place).name}s".replace("ss", "s"), True) is False:
                continue
            files |= {*folder.glob(f"{place}/*.rs"), *folder.glob(f"{place}/*/main.rs")}
        library = described.get("lib", {})
        listed = [
            one for kind in ("bin", "test", "example", "bench") for one in described.get(kind, [])
        ]
        files |= {folder / one["path"] for one in [library, *listed] if "path" in one}
        for file in sorted(files):
            if file.is_file():
                module = _build(root, file, file.parent, None)
                roots.append(module)
                if file == folder / library.get("path", "src/lib.rs"):
                    name = library.get("name") or described["package"]["name"]
                    crates[name.replace("-", "_")] = module
    found: set[tuple[str, str]] = set()
    for top in roots:
        for module in _all(top):
            found |= {(module.file, child.file) for child in module.children.values()}
            for path, _, _ in module.uses:
                found |= {
                    (module.file, target) for target in _targets(path, module, top, crates, 4)
                }
    return {(importer, target) for importer, target in found if importer != target}


def _all(module: Module) -> list[Module]:
    return [module, *(inner for child in module.children.values() for inner in _all(child))]


def _build(root: Path, file: Path, folder: Path, parent: Module | None) -> Module:
    module = Module(file.relative_to(root).as_posix(), folder.relative_to(root).as_posix(), parent)
    tokens = [m[0] for m in _TOKEN.finditer(file.read_text("utf-8", "replace"))]
    _read(root, module, [t for t in tokens if not t.startswith(("//", "/*"))], folder)
    return module


def _read(root: Path, module: Module, tokens: list[str], folder: Path) -> None:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "mod" and tokens[at + 2 : at + 3] == [";"]:
            name = tokens[at + 1]
            for file in (folder / f"{name}.rs", folder / name / "mod.rs"):
                if file.is_file():
                    module.children[name] = _build(root, file, folder / name, module)
            at += 3
        elif token == "mod" and tokens[at + 2 : at + 3] == ["{"]:
            end = _closing(tokens, at + 2)
            inner = Module(module.file, str(folder / tokens[at + 1]), module)
            module.children[tokens[at + 1]] = inner
            _read(root, inner, tokens[at + 3 : end], folder / tokens[at + 1])
            at = end + 1
        elif token == "use" and at + 1 < len(tokens) and re.match(r"\w|::|\{", tokens[at + 1]):
            end = tokens.index(";", at)
            is_public = tokens[at - 1 : at] == ["pub"] or tokens[max(at - 4, 0) : at][:1] == ["pub"]
            module.uses += [(path, name, is_public) for path, name in _leaves(tokens[at + 1 : end])]
            at = end + 1
        else:
            if token in {"struct", "enum", "trait", "type", "fn", "const", "static", "union"}:
                module.names.add(tokens[at + 1] if at + 1 < len(tokens) else "")
            at += 1


def _closing(tokens: list[str], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == "{") - (tokens[place] == "}")
        if depth == 0:
            return place
    return len(tokens)


def _leaves(tokens: list[str]) -> list[tuple[list[str], str]]:
    """Each path of a `use`, and the name that it gives."""
    leaves: list[tuple[list[str], str]] = []
    stack: list[list[str]] = [[]]
    path: list[str] = []
    at = 0
    while at <= len(tokens):
        token = tokens[at] if at < len(tokens) else ","
        if token == "{":
            stack.append(path)
            path = [*path]
        elif token in {",", "}"}:
            if path and path != stack[-1]:
                leaves.append((path, path[-1]))
            path = [*stack[-1]]
            if token == "}":
                stack.pop()
                path = []
        elif token == "as":
            leaves.append((path, tokens[at + 1]))
            path = [*stack[-1]]
            at += 1
        elif token != "::":
            path = [*path, token]
        at += 1
    return leaves


def _targets(
    path: list[str], module: Module, top: Module, crates: dict[str, Module], hops: int
) -> set[str]:
    here, rest = _start(path, module, top, crates)
    if here is None:
        return set()
    last: list[Module] = [here]
    while rest and rest[0] in last[-1].children:
        last.append(last[-1].children[rest[0]])
        rest = rest[1:]
    end = last[-1]
    found = {end.file}
    if not rest and len(last) > 1 and path[-1] not in {"self", "*"}:
        found.add(last[-2].file)  # `use a::b` names b out of a
    if len(rest) == 1 and hops:
        for inner, name, is_public in end.uses:
            if is_public and name == rest[0]:
                found |= _targets(inner, end, _top(end), crates, hops - 1)
            elif is_public and name == "*":
                for file in _targets(inner, end, _top(end), crates, 0):
                    origin = next((m for m in _all(_top(end)) if m.file == file), None)
                    if origin and rest[0] in origin.names:
                        found.add(file)
    return found


def _start(
    path: list[str], module: Module, top: Module, crates: dict[str, Module]
) -> tuple[Module | None, list[str]]:
    path = [part for part in path if part != "*"]
    if path[-1:] == ["self"] and len(path) > 1:
        path = path[:-1]
    if not path:
        return None, []
    if path[0] == "crate":
        return top, path[1:]
    here: Module | None = module
    if path[0] in {"self", "super"}:
        while path and path[0] in {"self", "super"}:
            if path[0] == "super":
                here = here.parent if here else None
            path = path[1:]
        return here, path
    if path[0] in module.children:
        return module, path
    if path[0] in crates:
        return crates[path[0]], path[1:]
    return None, []


def _top(module: Module) -> Module:
    while module.parent:
        module = module.parent
    return module
