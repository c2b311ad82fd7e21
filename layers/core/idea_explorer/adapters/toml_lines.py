"""Changes values in the text of a TOML file, line by line, so that comments and the order of lines stay."""

import json
import tomllib
from collections.abc import Iterator, Mapping

Values = Mapping[str, object]
Tables = Mapping[tuple[str, ...], Values]


def edit_toml(text: str, wanted: Tables) -> str:
    """The text with these values in these tables, and with no others. Comments stay, also those of a value
    that is gone. What spreads one value over several lines is not understood: parse the result to be sure.
    """
    parts: dict[tuple[str, ...], list[str]] = {(): []}
    table: tuple[str, ...] = ()
    found: dict[tuple[str, ...], set[str]] = {}
    # not splitlines(), which also cuts at signs that TOML allows within a line
    for ended in text.removesuffix("\n").split("\n"):
        line = ended.removesuffix("\r")
        if line.lstrip().startswith("["):
            table = tuple(_names(_parse(line)))
            parts.setdefault(table, [])
            if table in wanted:
                parts[table].append(line)
            continue
        given = _parse(line)
        if not given:
            parts[table].append(line)
            continue
        [(name, value)] = given.items()
        if name in wanted.get(table, {}):
            found.setdefault(table, set()).add(name)
            parts[table].append(_replace(line, name, value, wanted[table][name]))
    for table, values in wanted.items():
        missing = {name: values[name] for name in values if name not in found.get(table, ())}
        if table not in parts:
            parts[table] = ["", f"[{'.'.join(map(_name, table))}]"]
        _insert(parts[table], [_assign(name, value) for name, value in missing.items()])
    return "".join(f"{line}\n" for lines in parts.values() for line in lines)


def _insert(lines: list[str], added: list[str]) -> None:
    """After the last value; in front of the empty lines and comments that belong to what follows."""
    at = len(lines)
    while at and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
        at -= 1
    if not at:  # nothing but comments, of which the first may be about the whole file
        at = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
    lines[at:at] = added


def _replace(line: str, name: str, old: object, new: object) -> str:
    if old == new and type(old) is type(new):
        return line
    for at, character in enumerate(line):
        if character == "#" and _parse(line[:at]) == {name: old}:
            return f"{_assign(name, new)}  {line[at:]}"
    return _assign(name, new)


def _parse(line: str) -> dict[str, object]:
    """What one line says on its own; nothing where it is empty, a comment or a part of something."""
    try:
        return tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return {}


def _names(header: object) -> Iterator[str]:
    """The names in the header of a table."""
    while isinstance(header, dict) and header:
        [(name, header)] = header.items()
        yield name


def _assign(name: str, value: object) -> str:
    return f"{_name(name)} = {_quote(value)}"


def _name(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "_").isidentifier()
    return name if is_bare else _quote(name)


def _quote(value: object) -> str:
    """A value of TOML: JSON is one too, but for DEL, which no setting has."""
    return json.dumps(value, ensure_ascii=False)
