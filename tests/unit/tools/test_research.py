"""read_research, list_research and search_research over a folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter, ToolRetrier
from idea_explorer.agent.toolset import Toolset
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from idea_explorer.tools.research import MAX_LISTED, research_tools
from tests.fakes.clock import ManualClock
from tests.fakes.engine import RecordedLog
from tests.fakes.fetching import Files
from tests.fakes.toolsets import OnePage


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ideas" / "market").mkdir(parents=True)
    (tmp_path / "ideas" / "market" / "2024-06.md").write_text("# Tea\n\nTea rooms do well.")
    (tmp_path / "ideas" / "bees.md").write_text("# Bees\n\nHoney and hives in towns.")
    (tmp_path / "secret.txt").write_text("outside")
    return tmp_path


class PlainNames(Folder):
    """Reads only plain paths, as GitHub does."""

    reads_any_name = False


def answer(
    root: Path, name: str, given: JsonObject, repository: Callable[[Path], Folder] = Folder
) -> Any:
    log = RecordedLog()
    runner = ToolLimiter(ToolRetrier(ToolExecutor(log), ManualClock(), log))
    caller = ArgumentValidator(research_tools(repository(root), "web_search_20250305"), runner, log)
    return caller.call(ToolCall(id="c", name=name, input=given)).payload


def read(root: Path, path: object) -> Any:
    return answer(root, "read_research", {"path": path})  # type: ignore[dict-item]


def test_a_file_is_read_with_its_size(root: Path) -> None:
    assert read(root, "market/2024-06.md") == {
        "ok": True,
        "content": "# Tea\n\nTea rooms do well.",
        "bytes": 25,
    }


def test_a_missing_file_is_named_as_the_model_named_it(root: Path) -> None:
    assert read(root, " nothing.md") == {
        "ok": False,
        "error_type": "file_not_found",
        "message": "File not found:  nothing.md",
    }


@pytest.mark.parametrize("path", ["", " ", "\ufeff\u3000\n"])
def test_a_blank_path_breaks_the_rules_of_paths(root: Path, path: str) -> None:
    assert read(root, path) == {
        "ok": False,
        "error_type": "path_validation",
        "message": "Path is empty. Give a path relative to ideas/.",
    }


@pytest.mark.parametrize(
    "given", [{}, {"path": None}, {"path": 7}, {"path": ["a.md"]}, {"path": {}}]
)
def test_a_path_that_is_missing_or_no_text_is_a_bad_call(root: Path, given: JsonObject) -> None:
    refused = answer(root, "read_research", given)

    assert refused["error_type"] == "invalid_arguments"
    assert refused["message"].startswith("read_research requires 'path' parameter")


REJECTED = [
    "../secrets", "/etc/passwd", "foo\\bar.md", "%2e%2e/secrets", "ideas/market.md", "market/",
    "market//file.md", "a" * 201, "a\x00b", "a\nb",
]  # fmt: skip


@pytest.mark.parametrize("path", REJECTED)
def test_a_path_that_breaks_a_rule_is_rejected(root: Path, path: str) -> None:
    assert read(root, path)["error_type"] == "path_validation"


def test_the_logs_of_explorations_are_no_research(root: Path) -> None:
    folder = root / "ideas" / "2026-11-16-bees"
    folder.mkdir()
    (folder / "research.md").write_text("# Bees")
    (folder / "exploration-log.json").write_text("[]")
    (folder / "prices.json").write_text("{}")

    listed = answer(root, "list_research", {})

    paths = [file["path"] for file in listed["files"]]
    assert paths[:2] == ["2026-11-16-bees/prices.json", "2026-11-16-bees/research.md"]
    assert listed["total"] == len(paths) == 4
    assert "leftOut" not in listed


def test_of_many_documents_the_newest_are_listed_and_all_are_counted_and_read(root: Path) -> None:
    for number in range(MAX_LISTED):
        folder = root / "ideas" / f"2026-{1 + number // 28:02}-{1 + number % 28:02}-bees"
        folder.mkdir()
        (folder / "research.md").write_text("# Bees")

    listed = answer(root, "list_research", {})

    paths = [file["path"] for file in listed["files"]]
    assert (len(paths), listed["total"]) == (MAX_LISTED, MAX_LISTED + 2)
    assert paths == sorted(paths)
    assert {path[:5] for path in paths} == {"2026-"}
    assert f"newest {MAX_LISTED} of {MAX_LISTED + 2}" in listed["note"]
    assert read(root, "bees.md")["ok"]


def test_of_documents_by_day_the_oldest_are_left_out(root: Path) -> None:
    days = [f"20{year:02}-01-01-bees" for year in range(MAX_LISTED // 2)]
    for name in [*days, *(f"{day}-2" for day in days)]:
        (root / "ideas" / name).mkdir()
        (root / "ideas" / name / "research.md").write_text("# Bees")
    (root / "ideas" / "2099-12-31-bees").mkdir()
    (root / "ideas" / "2099-12-31-bees" / "research.md").write_text("# Bees")

    paths = [file["path"] for file in answer(root, "list_research", {})["files"]]

    assert "2099-12-31-bees/research.md" in paths
    assert sum(path.startswith("2000-01-01") for path in paths) == 1


def test_a_folder_of_thousands_of_documents_can_be_listed(root: Path) -> None:
    for number in range(2_500):
        name = f"2026-11-17-a-subscription-box-for-urban-beekeepers-in-the-north-{number}.md"
        (root / "ideas" / name).write_text("# Box")

    listed = answer(root, "list_research", {})

    assert (listed["ok"], listed["total"]) == (True, 2_502)


def test_an_empty_file_is_empty(root: Path) -> None:
    (root / "ideas" / "empty.md").write_text("")
    assert read(root, "empty.md") == {"ok": True, "content": "", "bytes": 0}


def test_a_file_over_50_kb_is_too_large(root: Path) -> None:
    (root / "ideas" / "fits.md").write_bytes(b"x" * 51_200)
    (root / "ideas" / "large.md").write_bytes(b"x" * 51_201)
    assert read(root, "fits.md")["ok"]
    assert read(root, "large.md") == {
        "ok": False,
        "error_type": "file_too_large",
        "message": "File exceeds 50KB limit. Try a more specific path or request a summary.",
    }


def test_a_folder_is_not_a_file(root: Path) -> None:
    assert read(root, "market") == {
        "ok": False,
        "error_type": "api_error",
        "message": "Path is not a file: market",
    }


def test_links_are_never_followed(root: Path) -> None:
    (root / "ideas" / "link.md").symlink_to(root / "secret.txt")
    (root / "ideas" / "away").symlink_to(root)
    assert read(root, "link.md")["message"] == "Path is not a file: link.md"
    assert read(root, "away/secret.txt")["message"] == "Path is not a file: away/secret.txt"
    listed = answer(root, "list_research", {})
    assert [f["path"] for f in listed["files"]] == ["bees.md", "market/2024-06.md"]


@pytest.mark.skipif(os.name != "posix", reason="pipes are a POSIX thing")
def test_a_pipe_is_not_a_file_and_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "ideas" / "pipe.md")
    assert read(root, "pipe.md")["error_type"] == "api_error"


def test_listing_gives_paths_that_reading_takes(root: Path) -> None:
    listed = answer(root, "list_research", {})
    assert listed["total"] == 2
    assert all(read(root, file["path"])["bytes"] == file["bytes"] for file in listed["files"])


UNTAKEN = [
    "Q3 plan.md",
    "50%.md",
    "_draft.md",
    "plän.md",
    f"{'long' * 60}.md",
    ".hidden.md",
    "a..b.md",
]


def test_names_that_reading_does_not_take_are_not_listed_but_counted(root: Path) -> None:
    for name in UNTAKEN:
        (root / "ideas" / name).write_text("# Plan")
    known = {info.path for info in Folder(root).list()}
    listed = answer(root, "list_research", {}, PlainNames)
    assert [file["path"] for file in listed["files"]] == ["bees.md", "market/2024-06.md"]
    assert (listed["total"], listed["leftOut"]) == (2, len(known) - 2)
    assert {"Q3 plan.md", "_draft.md", "plän.md"} < known
    assert "does not take" in listed["note"]


def test_a_document_that_cannot_be_read_is_found_and_says_so(root: Path) -> None:
    (root / "ideas" / "Q3 plan.md").write_text("# Plan\n\nOpen a zeppelin harbour.")
    (hit,) = answer(root, "search_research", {"query": "zeppelin"}, PlainNames)["results"]
    assert (hit["path"], "does not take" in hit["note"]) == ("Q3 plan.md", True)
    assert "harbour" in hit["excerpt"]
    refused = answer(root, "read_research", {"path": "Q3 plan.md"}, PlainNames)
    assert refused["error_type"] == "path_validation"


def test_a_folder_reads_every_path_that_it_lists(root: Path) -> None:
    for name in [*UNTAKEN, "My notes on bees.md", "Über Bienen.md", os.fsdecode(b"caf\xe9.md")]:
        (root / "ideas" / name).write_text(f"# Plan of {os.fsencode(name)!r}")
    listed = answer(root, "list_research", {})
    paths = [file["path"] for file in listed["files"]]
    assert {"My notes on bees.md", "Über Bienen.md", "caf%E9.md", "50%.md"} < set(paths)
    assert ".hidden.md" not in paths
    assert "leftOut" not in listed
    texts = {path: read(root, path) for path in paths}
    assert all(text["ok"] for text in texts.values())
    assert "xe9" in texts["caf%E9.md"]["content"]


@pytest.mark.parametrize("path", ["../secret.txt", "no such.md", ".hidden.md", "link to it.md"])
def test_a_path_that_is_not_listed_stays_closed(root: Path, path: str) -> None:
    (root / "ideas" / ".hidden.md").write_text("# Hidden")
    (root / "ideas" / "link to it.md").symlink_to(root / "secret.txt")
    assert read(root, path)["error_type"] == "path_validation"


def test_a_name_that_is_not_utf_8_is_spelled_out_and_its_text_found(root: Path) -> None:
    (root / "ideas" / os.fsdecode(b"caf\xe9.md")).write_text("# Plan\n\nOpen a zeppelin harbour.")
    (hit,) = answer(root, "search_research", {"query": "zeppelin"}, PlainNames)["results"]
    assert (hit["path"], "does not take" in hit["note"]) == ("caf%E9.md", True)
    assert "caf%E9.md" in {info.path for info in Folder(root).list()}


def test_searching_finds_the_document_and_shows_the_words(root: Path) -> None:
    found = answer(root, "search_research", {"query": "honey"})
    assert (found["query"], found["totalFound"]) == ("honey", 1)
    (result,) = found["results"]
    assert (result["path"], result["title"]) == ("bees.md", "Bees")
    assert "Honey and hives" in result["excerpt"]
    assert result["score"] > 0  # small in a small collection, where no word is rare


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_search_shows_the_text_of_a_document_and_not_its_front_matter(
    root: Path, line_end: str
) -> None:
    text = (
        "---\nidea: A zeppelin\nmodel: sonnet\n---\n\n# Harbour\n\nA zeppelin lands on its mast.\n"
    )
    (root / "ideas" / "harbour.md").write_bytes(text.replace("\n", line_end).encode())
    (hit,) = answer(root, "search_research", {"query": "zeppelin"})["results"]
    assert "lands on its mast" in hit["excerpt"]
    assert "idea:" not in hit["excerpt"]


OFFLINE = "---\nidea: A zeppelin\nmodel: offline\n---\n\n# Zeppelin\n\nA zeppelin lands.\n"


@pytest.mark.parametrize("limit", [1, 20])
def test_a_model_finds_research_however_much_the_offline_model_wrote(
    root: Path, limit: int
) -> None:
    (root / "ideas" / "harbour.md").write_text("# Harbour\n\nA mast for a zeppelin, and a crane.\n")
    for number in range(5):
        (root / "ideas" / f"zeppelin-{number}.md").write_text(OFFLINE)
    found = answer(root, "search_research", {"query": "zeppelin", "limit": limit})
    assert [hit["path"] for hit in found["results"]] == ["harbour.md"]
    assert found["totalFound"] == 1


def test_what_a_model_added_to_a_document_of_the_offline_model_is_found(root: Path) -> None:
    path = root / "ideas" / "zeppelin.md"
    path.write_text(OFFLINE)
    assert answer(root, "search_research", {"query": "zeppelin"})["results"] == []
    path.write_text(f"{OFFLINE}\n## Update - 2026-11-17\n\nA zeppelin needs a mast.\n")
    (hit,) = answer(root, "search_research", {"query": "zeppelin"})["results"]
    assert hit["path"] == "zeppelin.md"


@pytest.mark.parametrize("query", ['"', "AND OR NOT", "bees*", "(", "col:x", "'; DROP TABLE docs"])
def test_any_text_is_a_query(root: Path, query: str) -> None:
    assert answer(root, "search_research", {"query": query})["ok"]


def test_nothing_found_is_not_an_error(root: Path) -> None:
    found = answer(root, "search_research", {"query": "zeppelin"})
    assert (found["ok"], found["results"], found["totalFound"]) == (True, [], 0)


def test_web_search_is_always_there_and_reading_only_with_a_repository(root: Path) -> None:
    alone = research_tools(None, "web_search_20250305").definitions
    assert alone == [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]
    names = [d["name"] for d in research_tools(Folder(root), "web_search_20250305").definitions]
    assert names == ["web_search", "read_research", "list_research", "search_research"]


def test_a_newer_web_search_is_called_directly() -> None:
    (definition,) = research_tools(None, "web_search_20260318").definitions
    assert definition["allowed_callers"] == ["direct"]


def test_web_search_that_reaches_us_is_refused(root: Path) -> None:
    assert answer(root, "web_search", {"query": "x"})["error_type"] == "invalid_arguments"


def test_required_strings_have_a_minimum_length_in_the_schema(root: Path) -> None:
    for definition in research_tools(Folder(root), "v").definitions[1:]:
        schema: Any = definition["input_schema"]
        for name in schema.get("required", []):
            assert schema["properties"][name]["minLength"] == 1
        assert "Example: " in str(definition["description"])


def test_an_operator_may_take_web_search_from_runs_that_read_private_text(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    folder = Folder(tmp_path)
    assert "web_search" in research_tools(folder, DIRECT_VERSION).server_tools
    without = research_tools(folder, DIRECT_VERSION, search_with_private_text=False)
    assert not without.server_tools
    assert "read_research" in without.tools
    public = research_tools(None, DIRECT_VERSION, search_with_private_text=False)
    assert "web_search" in public.server_tools


def test_the_same_holds_for_the_assistant_where_there_are_uploads() -> None:
    def tools(files: Files) -> Toolset:
        return assistant_tools(
            OnePage(),
            files,
            DIRECT_VERSION,
            None,
            documents=ChildProcessReader(),
            search_with_private_text=False,
        )

    assert not tools(Files(notes__md=b"x")).server_tools
    assert "web_search" in tools(Files()).server_tools
