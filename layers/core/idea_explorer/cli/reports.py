"""`idea report` prints or writes a report; `idea open` shows it in the browser."""

import argparse
import sys
from pathlib import Path

from idea_explorer.api.views import Details
from idea_explorer.cli.output import parse_details, print_json, print_markdown
from idea_explorer.cli.targets import Target, choose_target
from idea_explorer.domain.errors import ConfigurationError, ExternalError, InvalidRequestError
from idea_explorer.domain.json import JsonObject, dump_text
from idea_explorer.domain.playlist import export
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.wiring.local import private_page

FORMATS = {
    ".md": "md",
    ".markdown": "md",
    ".txt": "md",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
}
PLAYLIST_FORMATS = {".m3u": "m3u", ".m3u8": "m3u", ".csv": "csv"}


def print_report(arguments: argparse.Namespace) -> int:
    """On stdout, to a file, or in the browser."""
    form = _choose_format(arguments)
    target = choose_target(arguments)
    content = target.report(arguments.id)
    if arguments.open:
        page = _write_page(target, content, arguments)
        return _show_in_browser(page.resolve().as_uri(), str(page))
    if form is None and arguments.json:
        print_json({"id": arguments.id, "content": content})
        return 0
    text = _render(form or "md", content, target, arguments.id)
    if arguments.output:
        _write(Path(arguments.output), text)
        if not arguments.quiet:
            print(arguments.output)
    elif form is None:
        print_markdown(text)
    else:
        print(text, end="" if text.endswith("\n") else "\n")
    return 0


def open_page(arguments: argparse.Namespace) -> int:
    """The published page, the console of a deployment, or on this machine the report as a page."""
    target = choose_target(arguments)
    details = parse_details(target.show(arguments.id))
    if address := target.page(details):
        if not address.startswith(("https://", "http://")):  # an API chose it
            raise ExternalError("The API sent an address that is not that of a web page.")
        return _show_in_browser(address, address)
    page = _write_page(target, target.report(arguments.id), arguments)
    return _show_in_browser(page.resolve().as_uri(), str(page))


def _choose_format(arguments: argparse.Namespace) -> str | None:
    """As asked for, or by the ending of the file; None is text to read."""
    form: str | None = arguments.format
    if form is None and arguments.output:
        ending = Path(arguments.output).suffix.lower()
        known = {**FORMATS, **PLAYLIST_FORMATS, "": "md"}
        if ending not in known:
            raise InvalidRequestError(
                f"--output: a report cannot be written as {ending}, only as"
                f" {', '.join(filter(None, known))}, or with another ending in the form that --format names."
            )
        form = known[ending]
    if arguments.open and form not in {None, "html"}:
        raise InvalidRequestError(
            "--open shows the report as a page, so it goes with --format html alone."
        )
    return form


def _render(form: str, content: str, target: Target, exploration_id: str) -> str:
    if form == "md":
        return content
    details = parse_details(target.show(exploration_id))
    makes_playlist = TOOLSETS[details.toolset].result_tool is not None
    match form:
        case "html":
            return _render_page(details, content)
        case "json" if not makes_playlist:
            return dump_text(_describe(details, content), indent=2) + "\n"
        case "json" | "m3u" | "csv":
            return export(content, form, details.toolset)
        case _:
            raise AssertionError(form)


def _describe(details: Details, content: str) -> JsonObject:
    """The report with what tells it from others."""
    names = {"id", "status", "idea", "title", "verdict", "toolset", "path", "cost_usd"}
    described: JsonObject = details.model_dump(mode="json", include=names)
    return {**described, "created_at": details.created_at.isoformat(), "content": content}


def _render_page(details: Details, content: str) -> str:
    # slow to import; only a page needs it
    from idea_explorer.console.page import render_page

    return render_page(details.title or details.idea, content)


def _write_page(target: Target, content: str, arguments: argparse.Namespace) -> Path:
    page = _render_page(parse_details(target.show(arguments.id)), content)
    if output := getattr(arguments, "output", None):
        _write(Path(output), page)
        return Path(output)
    return private_page(arguments.id, page)


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}.") from error


def _show_in_browser(address: str, shown: str) -> int:
    """Says where it is first: somebody may have no browser on this machine."""
    import webbrowser

    print(shown)
    sys.stdout.flush()
    try:
        is_open = webbrowser.open(address)
    except webbrowser.Error:
        is_open = False
    if not is_open:
        raise ConfigurationError(
            "No browser could be started.", hint="Set BROWSER to one, or open it yourself."
        )
    return 0
