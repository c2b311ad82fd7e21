import httpx2
import pytest
from pydantic import BaseModel

from idea_explorer.adapters.http.json_client import JsonHttp
from idea_explorer.domain.errors import UnavailableError


@pytest.mark.parametrize("body", ["[" * 100_000, "<html>", '{"status": {"error": 7}}'])
def test_a_refusal_whose_reason_cannot_be_read_is_a_refusal(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = JsonHttp("Qdrant", "http://127.0.0.1:1", headers={})
    monkeypatch.setattr(service, "_http", _client_that_answers(503, body))

    with pytest.raises(UnavailableError, match=r"^Qdrant answered 503\.$"):
        service.call(BaseModel, "GET", "/", seconds=1)


def _client_that_answers(status: int, body: str) -> httpx2.Client:
    return httpx2.Client(
        base_url="http://127.0.0.1:1",
        transport=httpx2.MockTransport(lambda _: httpx2.Response(status, text=body)),
    )
