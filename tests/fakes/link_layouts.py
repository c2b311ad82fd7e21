"""Ways to arrange links so that something outside of a repository might be reached through them.

Beside the repository lies `outside/` with `secret.txt` in it; `{out}` stands for its absolute path.
"""

import os

from tests.fakes.code_repository import TOP, Content, HardLink, Link

Layout = dict[str, Content]

LAYOUTS: dict[str, Layout] = {
    "a file, absolute": {"l": Link("{out}/secret.txt")},
    "a file, relative": {"l": Link("../outside/secret.txt")},
    "a folder, absolute": {"l": Link("{out}")},
    "a folder, relative": {"l": Link("../outside")},
    "a folder with a slash": {"l": Link("../outside/")},
    "the parent": {"l": Link("..")},
    "the root of the machine": {"l": Link("/")},
    "the root through /proc": {"l": Link("/proc/self/root")},
    "the working folder through /proc": {"l": Link("/proc/self/cwd")},
    "an open file through /proc": {"l": Link("/proc/self/environ")},
    "a device": {"l": Link("/dev/zero")},
    "a password file": {"l": Link("/etc/passwd")},
    "doubled slashes": {"l": Link("..//outside///secret.txt")},
    "a dot first": {"l": Link("./../outside/secret.txt")},
    "down and up again": {"sub/a.py": "x = 1\n", "l": Link("sub/../../outside")},
    "up from a folder": {"sub/l": Link("../../outside/secret.txt")},
    "up from a deep folder": {"a/b/c/l": Link("../../../../outside")},
    "more ups than there are": {"l": Link("../" * 60 + "etc")},
    "a chain of three": {"l": Link("m"), "m": Link("n"), "n": Link("{out}")},
    "a chain of fifty": {
        **{f"l{n}": Link(f"l{n + 1}") for n in range(50)},
        "l50": Link("../outside"),
    },
    "a chain through folders": {"d/l": Link("../e"), "e/l": Link("../f"), "f": Link("{out}")},
    "a linked folder with a link in it": {"d/out": Link("{out}"), "l": Link("d")},
    "up through a linked folder": {
        "d/e/a.py": "x = 1\n",
        "l": Link("d/e"),
        "m": Link("l/../../.."),
    },
    "itself": {"l": Link("l")},
    "itself as a folder": {"l": Link("l/l")},
    "its own folder": {"d/l": Link("."), "l": Link(".")},
    "a circle of two": {"l": Link("m"), "m": Link("l")},
    "a circle of three": {"l": Link("m"), "m": Link("n"), "n": Link("l")},
    "a circle of folders": {"d/l": Link("../e"), "e/l": Link("../d")},
    "nothing": {"l": Link("missing.txt")},
    "nothing outside": {"l": Link("../outside/missing.txt")},
    "an empty name below": {"l": Link("{out}/.")},
    "a name like a document": {"README.md": Link("../outside/secret.txt")},
    "a name like a module": {
        "pkg/__init__.py": Link("{out}/secret.txt"),
        "pkg/a.py": "import pkg\n",
    },
    "a name with a line end": {"l\nm": Link("../outside/secret.txt")},
    "a name that is not UTF-8": {os.fsdecode(b"l\xff"): Link("../outside/secret.txt")},
    "a target that is not UTF-8": {"l": Link(os.fsdecode(b"../\xff/../outside/secret.txt"))},
    "a target with a backslash": {"l": Link("..\\outside\\secret.txt")},
    "a target with spaces": {"l": Link(" ../outside/secret.txt")},
}

# What no file system can hold, but an archive can.
ARCHIVE_LAYOUTS: dict[str, Layout] = {
    "a name like git's folder": {".git": Link("{out}")},
    "a file below a link": {"l": Link("{out}"), "l/secret.txt": "planted\n"},
    "a file in place of a link": {"l": Link("{out}/secret.txt"), "m/../l": "planted\n"},
    "a hard link, absolute": {"l": HardLink("{out}/secret.txt")},
    "a hard link, relative": {"l": HardLink("../outside/secret.txt")},
    "a hard link through a link": {"d": Link("{out}"), "l": HardLink(f"{TOP}/d/secret.txt")},
    "a hard link to a link": {"m": Link("{out}/secret.txt"), "l": HardLink(f"{TOP}/m")},
    "an empty target": {"l": Link("")},
    "a name with two dots": {"../../outside/planted.txt": "planted\n"},
    "an absolute name": {"/../../{out}/planted.txt": "planted\n"},
}


def placed(layout: Layout, outside: str) -> Layout:
    """The layout with the absolute path of what lies outside."""

    def fill_in(content: Content) -> Content:
        match content:
            case Link(target):
                return Link(os.fsdecode(target).replace("{out}", outside))
            case HardLink(target):
                return HardLink(target.replace("{out}", outside))
            case _:
                return content

    return {name.replace("{out}", outside): fill_in(content) for name, content in layout.items()}
