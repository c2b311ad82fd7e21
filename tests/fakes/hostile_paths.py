"""Paths that someone would try who wants to get out of a repository."""

from hypothesis import strategies as st

_PIECES = [
    "..", ".", "", "...", "....", "..;", ".. ", " ..", "\u2024\u2024", "\uff0e\uff0e", "%2e%2e", "%252e",
    "..%2f", "%00", "\x00", "\x1f", "\n", "\t", "\\", "..\\", "/", "//", "~", "~root", "C:", "c:\\", "\ud800",
    "\udcff", ".git", ".GIT", "git~1", "\u202e", "\ufeff", "etc", "passwd", "proc", "self", "environ",
    "secret.txt", "outside", "src", "app.py", "link", "loop", "README.md",
    "con", "a" * 300, "$HOME", "`id`", "*", "?", "[", "{a,b}",
]  # fmt: skip


def hostile_paths() -> st.SearchStrategy[str]:
    piece = st.one_of(st.sampled_from(_PIECES), st.text(max_size=6))
    separator = st.sampled_from(["/", "/", "/", "//", "\\", "/./", ""])
    return st.lists(st.tuples(piece, separator), min_size=1, max_size=8).map(
        lambda parts: "".join(piece + between for piece, between in parts)
    )
