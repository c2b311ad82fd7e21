"""Modules that are imported when they are first used."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.startup.own_builtins import import_when_used

MODULES = {
    "late_package/__init__.py": "value = 1\nloads.append(1)\n",
    "late_package/part.py": "value = 2\n",
    "user_of_late.py": (
        "import late_package\n"
        "import late_package.part as part\n"
        "whole = late_package\n"
        "import late_package.part\n"
        "from late_package import part as second\n"
        "from json import dumps\n"
        "def read():\n"
        "    return whole.value, part.value, second.value, late_package.part.value, late_package.value\n"
        "def ask(): return whole.nothing\n"
    ),
}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        counted = f"import sys; loads = sys.__dict__.setdefault('loads_of_late', [])\n{text}"
        (tmp_path / name).write_text(counted if name.endswith("__init__.py") else text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("late_package", "late_package.part", "user_of_late"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "loads_of_late", [], raising=False)
    import_when_used("user_of_late", ("late_package", "late_package.part"))
    user = import_module("user_of_late")
    yield user
    for name in ("late_package", "late_package.part", "user_of_late"):
        sys.modules.pop(name, None)


def test_a_module_is_loaded_when_one_of_its_names_is_asked_for(user: Any) -> None:
    assert "late_package" not in sys.modules
    assert user.dumps is json.dumps

    assert user.read() == (1, 2, 2, 2, 1)
    assert "late_package.part" in sys.modules


def test_threads_that_ask_at_once_load_it_once(user: Any) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = {*threads.map(lambda _: user.read(), range(32))}

    assert results == {(1, 2, 2, 2, 1)}
    assert sys.loads_of_late == [1]  # type: ignore[attr-defined]


def test_a_name_that_it_does_not_have_is_an_attribute_error(user: Any) -> None:
    with pytest.raises(AttributeError, match="late_package"):
        user.ask()


def test_other_modules_import_it_as_ever(user: Any) -> None:
    import late_package  # type: ignore[import-not-found]

    assert late_package is sys.modules["late_package"]
    assert user.whole.value == late_package.value


# these are optional for httpx2, and are here only because tests use them
WITHOUT_OPTIONAL = "import sys; sys.modules.update({'trio': None, 'h2': None});"


def test_a_client_for_pages_loads_nothing_that_only_asynchronous_calls_use() -> None:
    loaded = loaded_by(f"{WITHOUT_OPTIONAL} import idea_explorer.adapters.http.public")

    assert "httpcore2._backends.anyio" in loaded
    assert not {"asyncio", "anyio", "idna"} & loaded


def test_a_client_of_github_loads_no_other_http_than_that_of_the_standard_library() -> None:
    loaded = loaded_by(
        f"{WITHOUT_OPTIONAL} import idea_explorer.adapters.github.publisher as github;"
        "github.GitHubClient('a/b', lambda: 't', 'https://api.github.com')"
    )

    assert "http.client" in loaded
    assert not {"httpcore2", "h11", "asyncio", "anyio", "idna"} & loaded


def loaded_by(code: str) -> set[str]:
    call = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    return {*subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()}


def test_a_log_loads_nothing_that_reads_paths_in_events() -> None:
    code = (
        "import sys, idea_explorer; from aws_lambda_powertools import Logger; loaded = [*sys.modules];"
        "from aws_lambda_powertools.logging.logger import jmespath_utils as late;"
        "print('jmespath' in loaded, late.query(data={'a': {'b': 7}}, envelope='a.b'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "7"]


def test_models_are_made_without_looking_for_plugins() -> None:
    code = (
        "import sys, idea_explorer.domain.request as r; r.ExploreRequest(idea='A box');"
        "print('pydantic.plugin._loader' in sys.modules, 'importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
