"""The anthropic SDK, loaded without what nobody asks for."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from idea_explorer.adapters.claude.lazy_sdk import _CalledLoader, _hides_a_module, _read_names


def run(code: str) -> list[object]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def test_the_client_loads_a_tenth_of_the_sdk() -> None:
    code = (
        "import json, sys; from idea_explorer.adapters.claude import Claude; Claude.with_key('k');"
        "print(json.dumps([name for name in sys.modules if name.startswith('anthropic')]))"
    )
    loaded = run(code)

    assert "anthropic._client" in loaded
    assert len(loaded) < 300  # of 2,900
    assert not [name for name in loaded if str(name).startswith("anthropic.resources.")]
    assert not {"anthropic.lib.bedrock", "anthropic.lib.vertex", "anthropic.lib.streaming"} & {
        *loaded
    }


def test_the_client_loads_nothing_that_only_asynchronous_calls_use() -> None:
    code = (
        # these are optional for httpx2 and the SDK, and are here only because tests use them
        "import json, sys; sys.modules.update({'trio': None, 'aiohttp': None, 'h2': None});"
        "from idea_explorer.adapters.claude import Claude; Claude.with_key('k');"
        "print(json.dumps([*sys.modules]))"
    )
    loaded = {*run(code)}

    assert "httpx2" in loaded
    assert not {"asyncio", "anyio", "idna", "subprocess", "httpcore2._async.connection"} & loaded


def test_asynchronous_calls_and_hosts_of_other_letters_still_work() -> None:
    code = """
import json, idea_explorer.adapters.claude, anthropic, httpx2
import asyncio

async def ask():
    client = anthropic.AsyncAnthropic(api_key="k", base_url="http://127.0.0.1:9", max_retries=1)
    given = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}
    try:
        await client.messages.create(**given)
    except anthropic.APIConnectionError as error:
        return str(type(error.__cause__).__name__)

url = httpx2.URL("http://bücher.example")
print(json.dumps([asyncio.run(ask()), url.raw_host.decode(), url.host]))
"""
    assert run(code) == ["ConnectError", "xn--bcher-kva.example", "bücher.example"]


def test_every_other_name_of_the_sdk_is_found_when_it_is_asked_for() -> None:
    code = (
        "import json, idea_explorer.adapters.claude, anthropic;"
        "from anthropic.types import Message; from anthropic.types.beta import BetaMessage;"
        "names = [anthropic.AnthropicAWS, anthropic.AnthropicBedrock, anthropic.types.TextBlock,"
        " anthropic.RateLimitError, Message, BetaMessage];"
        "print(json.dumps([[n.__name__ for n in names], hasattr(anthropic, 'Nonsense')]))"
    )

    assert run(code) == [
        [
            "AnthropicAWS",
            "AnthropicBedrock",
            "TextBlock",
            "RateLimitError",
            "Message",
            "BetaMessage",
        ],
        False,
    ]


def test_what_a_package_only_repeats_is_told_from_what_it_does() -> None:
    text = """# comment
from __future__ import annotations

from .a import One as One, Two
from .b import (
    Three as Drei,  # of b
    Four,
)
from . import five
from .lib import *

__all__ = [
    "One",
]
"""
    names, rest = _read_names(text)

    assert rest == ""
    assert names == {
        "One": (".a", "One"),
        "Two": (".a", "Two"),
        "Drei": (".b", "Three"),
        "Four": (".b", "Four"),
        "five": (".", "five"),
        "* of .lib": (".lib", "*"),
    }


@pytest.mark.parametrize("more", ["def f(): ...", "import os", "if True:\n    from .c import Six"])
def test_a_package_that_does_more_is_seen(more: str) -> None:
    assert _read_names(f"from .a import One\n{more}\n")[1] != ""


def test_a_function_of_tracing_is_loaded_when_it_is_called() -> None:
    code = (
        "import json, sys, idea_explorer.adapters.claude; from anthropic.lib._tracing import count;"
        "before = 'anthropic.types.message' in sys.modules;"
        "from anthropic.lib import _tracing; told = _tracing.get({'a': 1}, 'a');"
        "after = 'anthropic.types.message_create_params' in sys.modules;"
        "print(json.dumps([before, told, after]))"
    )

    assert run(code) == [False, 1, True]


def test_a_name_that_a_module_would_replace_is_seen() -> None:
    assert _hides_a_module({"count": (".count", "count")})
    assert not _hides_a_module({"Count": (".count", "Count")})


def load_when_called(path: Path) -> ModuleType:
    spec = spec_from_file_location("slow", path, loader=_CalledLoader("slow", str(path)))
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_threads_that_need_a_module_at_once_all_get_it(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text("import time; time.sleep(0.05)\ndef refuse(): return 429\nCODE = refuse()\n")
    module = load_when_called(path)

    with ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(lambda: module.refuse()) for _ in range(4)]
        names = [threads.submit(lambda: module.CODE) for _ in range(4)]

    assert [asked.result() for asked in calls + names] == [429] * 8


def test_a_module_that_could_not_be_loaded_is_loaded_by_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    module = load_when_called(path)
    with pytest.raises(FileNotFoundError):
        module.refuse()

    path.write_text("def refuse(): return 429\n")

    assert module.refuse() == 429


def test_classes_of_the_asynchronous_half_are_loaded_when_they_are_called() -> None:
    code = (
        "import json, sys; from idea_explorer.adapters.claude import Claude; Claude.with_key('k');"
        "before = 'anyio.streams.tls' in sys.modules; import httpcore2;"
        "backend = type(httpcore2.AnyIOBackend()).__name__;"
        "from anthropic.lib.credentials import TokenCache;"
        "cache = type(TokenCache(lambda **_: None)).__name__;"
        "print(json.dumps([before, backend, cache]))"
    )

    assert run(code) == [False, "AnyIOBackend", "TokenCache"]
