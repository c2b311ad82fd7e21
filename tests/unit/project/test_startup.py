"""What is loaded when. A newcomer's first `idea --help` should not wait for what it does not use."""

import subprocess
import sys

HEAVY = {"anthropic", "boto3", "botocore", "httpx2", "pydantic", "rich", "aws_lambda_powertools"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
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
    assert not {"anthropic", "boto3", "httpx2"} & loaded_by(statement)


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
