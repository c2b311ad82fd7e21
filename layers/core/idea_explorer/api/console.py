"""The routes of the console. They hold nothing that is anybody's, so they need no token."""

from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Call
from idea_explorer.api.errors import RequestError
from idea_explorer.api.routes import Route
from idea_explorer.console.assets import PAGE, asset, policy
from idea_explorer.usecases.deps import Deps


def show_page(call: Call, deps: Deps) -> Answer:
    if call.address and not call.address.endswith("/"):
        # addresses in the page are relative, so that any prefix works; they need its slash
        return Answer(308, "", headers={"Location": f"{call.address}/"})
    return _file(PAGE, call, policy(deps.uploads.origin))


def show_asset(call: Call, _deps: Deps) -> Answer:
    return _file(call.path["name"], call, policy())


def _file(name: str, call: Call, allowed: str) -> Answer:
    found = asset(name)
    if found is None:
        raise RequestError(404, "There is no such file.")
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": allowed,
        "Cross-Origin-Opener-Policy": "same-origin",
        "ETag": found.etag,
    }
    if call.header("if-none-match") == found.etag:
        return Answer(304, headers=headers)
    return Answer(200, found.text, content_type=found.content_type, headers=headers)


CONSOLE_ROUTES: tuple[Route, ...] = (
    Route("GET", "/", show_page, "The console", answers={}, open=True),
    Route("GET", "/console/<name>", show_asset, "A file of the console", answers={}, open=True),
)
