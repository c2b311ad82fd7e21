"""Serves the console's files. The files hold no user data, so they need no token."""

from idea_explorer.api.http import ApiCall, ApiResponse, RequestError
from idea_explorer.api.negotiation import is_known
from idea_explorer.console.assets import PAGE, build_policy, load_asset
from idea_explorer.usecases.deps import Deps


def show_page(call: ApiCall, deps: Deps) -> ApiResponse:
    if call.address and not call.address.endswith("/"):
        # the page uses relative links so that it works under any prefix; they need the final slash
        return ApiResponse(308, "", headers={"Location": f"{call.address}/"})
    return _respond_with_file(PAGE, call, build_policy(deps.uploads.origin))


def show_asset(call: ApiCall, _deps: Deps) -> ApiResponse:
    return _respond_with_file(call.path["name"], call, build_policy())


def _respond_with_file(name: str, call: ApiCall, allowed: str) -> ApiResponse:
    found = load_asset(name)
    if found is None:
        raise RequestError(404, "No such file.")
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": allowed,
        "Cross-Origin-Opener-Policy": "same-origin",
        "ETag": found.etag,
        "Vary": "Accept-Encoding",  # the server or API Gateway compresses it for those who read that
    }
    if is_known(found.etag, call.header("if-none-match")):
        return ApiResponse(304, headers=headers)
    return ApiResponse(200, found.text, content_type=found.content_type, headers=headers)
