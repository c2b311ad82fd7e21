"""python -m scripts.deploy deploy|undeploy; the Makefile calls it."""

import argparse
import getpass
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.cli import main as run_idea
from idea_explorer.cli import streams
from idea_explorer.cli.failures import report_failure
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.wiring.local import system_clock
from scripts.deploy.answers import Answers
from scripts.deploy.deploy import Request, Tools, deploy
from scripts.deploy.parameters import parse_overrides
from scripts.deploy.stack import Account
from scripts.deploy.undeploy import undeploy

ROOT = Path(__file__).parents[2]
KEYS = ("ANTHROPIC_API_KEY", "GITHUB_TOKEN")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("action", choices=["deploy", "undeploy"])
    for name in ("stack", "repository", "stage", "architecture", "region", "owner", "built"):
        parser.add_argument(f"--{name}", default="")
    arguments = parser.parse_args()
    streams.prepare()  # names of stacks and what AWS answers are shown, and never obeyed
    try:
        if arguments.action == "undeploy":
            if arguments.region:
                _use_region(arguments.region)
            return undeploy(
                arguments.stack,
                ROOT / "template.yaml",
                Account(),
                _confirm,
                partial(print, flush=True),
            )
        return deploy(_request(arguments), _tools())
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001  one sentence, as for every command
        return report_failure(error, debug=False)


def _request(arguments: argparse.Namespace) -> Request:
    parameters = parse_overrides(os.environ.get("PARAMETERS", ""))  # make exports it
    if arguments.repository:
        parameters["GitHubRepository"] = arguments.repository
    return Request(
        stack=arguments.stack or None,
        stage=arguments.stage or None,
        architecture=arguments.architecture or None,
        region=arguments.region or None,
        owner=arguments.owner or "admin",
        parameters=parameters,
        built=Path(arguments.built) if arguments.built else None,
    )


def _tools() -> Tools:
    return Tools(
        root=ROOT,
        sam=_run_sam,
        smoke=lambda stack: run_idea(["admin", "smoke", "--stack", stack]),
        say=partial(print, flush=True),
        answers=Answers(os.environ, sys.stdin.isatty(), _ask, getpass.getpass),
        account=Account(),
        clock=system_clock(),
        use_region=_use_region,
        known_region=_known_region,
    )


def _run_sam(arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """With the environment's Python, which builds the layers, and without the keys: it needs none."""
    programs = Path(sys.executable).parent
    inherited = {name: value for name, value in os.environ.items() if name not in KEYS}
    environment = {
        **inherited,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHON": sys.executable,
        "SAM_CLI_TELEMETRY": "0",
        **variables,
    }
    return subprocess.run(["sam", *arguments], cwd=ROOT, env=environment, check=False).returncode


def _use_region(region: str) -> None:
    """Raises InvalidRequestError for a region that AWS does not have, as far as botocore knows."""
    from botocore.session import Session

    with map_aws_errors("CloudFormation"):
        aws = Session()
        known = {
            name
            for partition in aws.get_available_partitions()
            for name in aws.get_available_regions("cloudformation", partition)
        }
    if region not in known:
        raise InvalidRequestError(
            f"{region!r} is not an AWS region.", hint="Name one such as eu-central-1."
        )
    os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = region


def _known_region() -> str | None:
    """That of the environment or of the profile."""
    from botocore.session import Session

    with map_aws_errors("CloudFormation"):
        known: str | None = os.environ.get("AWS_REGION") or Session().get_config_variable("region")
    return known


def _confirm(question: str) -> str:
    if confirmed := os.environ.get("CONFIRM"):
        return confirmed
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "There is no terminal to confirm in.", hint="Name the stack again with CONFIRM=…"
        )
    return _ask(question)


def _ask(question: str) -> str:
    """Print the question by itself: `input` would write it past the protection of the stream."""
    print(question, end="", flush=True)
    return input()


if __name__ == "__main__":
    sys.exit(main())
