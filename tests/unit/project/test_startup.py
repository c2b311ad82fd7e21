"""What is loaded when. A newcomer's first `idea --help` should not wait for what it does not use."""

import os
import subprocess
import sys

import pytest

HEAVY = {"anthropic", "boto3", "botocore", "httpx2", "pydantic", "rich", "aws_lambda_powertools"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    # what measures coverage would load modules of its own
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, env=kept, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    assert not HEAVY & loaded_by("import idea_explorer.cli")


def test_printing_help_loads_nothing_heavy() -> None:
    statement = "from idea_explorer.cli.parser import build_parser; build_parser().format_help()"
    assert not {*HEAVY, "inspect", "hashlib", "difflib"} & loaded_by(statement)


def test_running_a_tool_by_hand_loads_no_client() -> None:
    call = 'main(["tool", "calculator", \'{"expression": "1"}\', "--toolset", "assistant"])'
    statement = f"from idea_explorer.cli import main; {call}"
    assert not {"anthropic", "boto3", "httpx", "httpx2"} & loaded_by(statement)


def test_an_offline_exploration_loads_no_client() -> None:
    statement = "import idea_explorer.cli.explore, idea_explorer.adapters.offline"
    assert not {"anthropic", "boto3", "httpx2", "zipfile", "html"} & loaded_by(statement)


def test_a_deployment_connects_to_nothing_before_it_needs_to() -> None:
    statement = (
        "from idea_explorer.observability.logging import SilentLog;"
        "from idea_explorer.settings import Settings;"
        "from idea_explorer.wiring import cloud; from idea_explorer.wiring.deps import cloud_deps;"
        "s = Settings(table_name='t', bucket_name='b', queue_url='q', state_machine_arn='a');"
        "d = cloud_deps(s, SilentLog()); d.queue(), d.workflow(), d.index(), cloud.cloud_secrets(s)"
    )
    assert not {"anthropic", "boto3", "botocore", "httpx2"} & loaded_by(statement)


def test_a_server_starts_without_the_clients_that_only_some_calls_use() -> None:
    statement = (
        "import tempfile; from pathlib import Path;"
        "import idea_explorer.cli.serve; from idea_explorer.observability.logging import SilentLog;"
        "from idea_explorer.settings import Settings; from idea_explorer.wiring.deps import server_deps;"
        "server_deps(Settings(research_dir=Path(tempfile.mkdtemp())), SilentLog())"
    )
    loaded = loaded_by(statement)

    assert "uvicorn" in loaded
    assert not {"anthropic", "boto3", "botocore", "httpx2", "aws_lambda_powertools"} & loaded


# Modules of ours and patterns that are compiled, with a little room. Each module costs half a millisecond to
# two, and each pattern half a millisecond where its code is not kept: what is over the limit should be loaded
# by the calls that use it.
# Python 3.11 compiles up to four more of its own than 3.13.
MAX_LOADED = {
    "printing help": (15, 15),
    "an exploration without a key": (157, 39),
    "an exploration with a key": (165, 118),
    "an exploration without a key, to its end": (232, 97),
}
COUNT = (
    "import _sre, sys; compiled = []; compile = _sre.compile;"
    "_sre.compile = lambda *given: compiled.append(given) or compile(*given);"
)
PREPARE = (
    "import tempfile; from idea_explorer.observability.logging import SilentLog;"
    "import idea_explorer.usecases.submit, idea_explorer.usecases.explore;"
    "from idea_explorer.settings import Settings; from idea_explorer.wiring.deps import local_deps;"
    "given = {'IDEA_RESEARCH_DIR': tempfile.mkdtemp()} | KEY;"
    "local_deps(Settings.from_environment(given), SilentLog()).engine();"
)
STARTS = {
    "printing help": "from idea_explorer.cli.parser import build_parser; build_parser().format_help();",
    "an exploration without a key": f"KEY = {{}}; {PREPARE}",
    "an exploration with a key": f"KEY = {{'ANTHROPIC_API_KEY': 'k'}}; {PREPARE}",
    "an exploration without a key, to its end": (
        "import tempfile; from idea_explorer.cli import main;"
        "main(['explore', 'A box for beekeepers', '--quiet', '--research', tempfile.mkdtemp()]);"
    ),
}


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_and_compiles_no_more_than_it_used_to(start: str) -> None:
    code = (
        f"{COUNT}{STARTS[start]}"
        "print(sum(name.startswith('idea_explorer') for name in sys.modules), len(compiled))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, patterns = map(int, done.stdout.split()[-2:])

    assert modules <= MAX_LOADED[start][0]
    assert patterns <= MAX_LOADED[start][1]


def test_garbage_is_collected_as_ever_once_the_program_has_started() -> None:
    code = (
        "import gc; usual = gc.get_threshold(); import idea_explorer; started = gc.get_threshold();"
        "gc.collect(); print(started[0] > 10 * usual[0], gc.get_threshold() == usual)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
