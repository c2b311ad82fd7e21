"""Which files are most telling when a search matches in too many."""

from idea_explorer.tools.code.parsing import language_of

# In this order: source code, its tests, documents and data, and what others or programs wrote.
_SOURCE, _TEST, _DOCUMENT, _FOREIGN = range(4)
_FOREIGN_FOLDERS = frozenset(
    "vendor vendored third_party third-party node_modules bower_components dist build out target generated"
    " __generated__ __snapshots__ site-packages locale locales".split()
)
_FOREIGN_ENDINGS = (
    ".min.js",
    ".min.css",
    ".map",
    ".lock",
    "-lock.json",
    "-lock.yaml",
    ".po",
    ".svg",
)
_TEST_FOLDERS = frozenset(
    "test tests __tests__ spec specs testing testdata fixtures e2e benchmarks examples".split()
)
_TEST_STARTS = ("test_", "tests_", "conftest.")
_TEST_PARTS = ("_test.", ".test.", ".spec.", "_spec.")
_DOCUMENTS = frozenset(
    "css html ini json less markdown restructuredtext scss text toml xml yaml".split()
)


def rank_path(path: str) -> int:
    """The lower, the more telling."""
    *folders, name = path.lower().split("/")
    if name.endswith(_FOREIGN_ENDINGS) or not _FOREIGN_FOLDERS.isdisjoint(folders):
        return _FOREIGN
    if language_of(path) in _DOCUMENTS:
        return _DOCUMENT
    is_test = name.startswith(_TEST_STARTS) or any(part in name for part in _TEST_PARTS)
    if is_test or not _TEST_FOLDERS.isdisjoint(folders):
        return _TEST
    return _SOURCE
