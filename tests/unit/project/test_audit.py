"""Whatever the linters are told to skip is answered."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.e2e.harness.template import ROOT

ANSWERS = (ROOT / "docs" / "security.md").read_text("utf-8")
RULES = re.compile(r"\b(?:CKV_AWS_\d+|[EWI]\d{4}|B\d{3})\b")


def test_every_rule_that_is_skipped_has_an_answer_and_no_other_has() -> None:
    checkov = yaml.safe_load((ROOT / ".checkov.yaml").read_text("utf-8"))["skip-check"]
    (cfn_lint,) = re.findall(
        r"--ignore-checks ((?:I\d+ )+)", (ROOT / "scripts" / "audit").read_text("utf-8")
    )
    bandit = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["bandit"]["skips"]
    answered = RULES.findall("".join(re.findall(r"^\| ([^|]*)\|", ANSWERS, re.M)))

    assert sorted(answered) == sorted([*checkov, *cfn_lint.split(), *bandit])


EXCEPTION = re.compile(r"#.*(?:noqa: [^#]*\bS\d{3}|nosec\b).*")
MARKS = re.compile(r"noqa: [A-Z0-9, ]*[A-Z]\d{3}|nosec [B0-9, ]+|#")
SOURCES = [
    p for folder in ("layers/core", "functions", "scripts") for p in (ROOT / folder).rglob("*.py")
]


def find_unexplained(path: Path) -> list[str]:
    lines = path.read_text("utf-8").splitlines()
    found = [(number, EXCEPTION.search(line)) for number, line in enumerate(lines, 1)]
    return [f"{path}:{n}" for n, match in found if match and not MARKS.sub("", match[0]).strip()]


def test_every_exception_from_a_rule_of_security_has_a_reason() -> None:
    assert [line for path in SOURCES for line in find_unexplained(path)] == []


@pytest.mark.parametrize(
    "line", ["f()  # noqa: S603", "f()  # nosec B608", "f()  # noqa: S105  # nosec B105"]
)
def test_an_exception_without_a_reason_is_found(tmp_path: Path, line: str) -> None:
    source = tmp_path / "source.py"
    source.write_text(line)

    assert find_unexplained(source) == [f"{source}:1"]


PLACES = [
    ROOT / "Makefile",
    *(path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix),
    *(ROOT / "layers").glob("*/Makefile"),
    ROOT / ".ci" / "run",
]


def test_whatever_is_installed_has_its_hash_checked() -> None:
    """`--no-deps --editable` is this project itself."""
    commands = [
        line
        for path in PLACES
        for line in path.read_text("utf-8").replace("\\\n", " ").splitlines()
        if not line.lstrip().startswith(("#", "PIP :=", "pip="))
        and re.search(r"pip\"? install|\$pip |\$\(PIP\)|npm i(nstall)?\b|npx\b", line)
    ]
    unchecked = [
        line for line in commands if "--require-hashes" not in line and "installed_by" not in line
    ]

    assert len(commands) >= 5
    assert unchecked == []
