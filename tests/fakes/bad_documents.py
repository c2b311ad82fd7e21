"""Documents that people, models and strangers may leave in a repository, and that must harm no other."""

_BOMB = "\n".join(
    f"k{level}: &k{level} [{', '.join([f'*k{level - 1}'] * 10)}]" for level in range(1, 10)
)
FRONT_MATTERS = {
    "a tag": "idea: !!bool x",
    "a tag of Python": "idea: !!python/object/apply:os.system [ls]",
    "a tag of one's own": "idea: !secret x",
    "an integer that is none": "idea: !!int x",
    "a date that is none": "idea: !!timestamp x",
    "binary data that is none": "idea: !!binary x",
    "an alias bomb": f"k0: &k0 lol\n{_BOMB}",
    "an alias of itself": "idea: &a [*a]",
    "an anchor": "idea: &a tea",
    "a merge key": "<<: {idea: tea}",
    "a list as a key": "? [a, b]\n: c",
    "a list": "- a\n- b",
    "a word": "tea",
    "two documents": "idea: tea\n--- more\nidea: coffee",
    "an open bracket": "idea: [",
    "deep lists": f"idea: {'[' * 5_000}",
    "deep lists, closed": f"idea: {'[' * 500}{']' * 500}",
    "deep lines": "\n".join(f"{' ' * level}a:" for level in range(500)),
    "many names": "\n".join(f"name{number}: x" for number in range(5_000)),
    "one long line": f"idea: {'x' * 70_000}",
    "half a character": 'idea: "\\ud800"',
    "no character": 'idea: "\\U00110000"',
    "a control character": "idea: \x00\x07",
    "a tab": "idea:\n\ttea",
    "a directive": "%YAML 9.9\nidea: tea",
}
# Each with words of its own, by which it is found.
BAD_DOCUMENTS = {
    name: f"---\n{matter}\n---\n\n# Tea and {name}\n\nPeople drink tea.\n"
    for name, matter in FRONT_MATTERS.items()
}
