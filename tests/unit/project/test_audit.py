"""Whatever the linters are told to skip is answered."""

import re

import yaml

from tests.e2e.harness.template import ROOT

ANSWERS = (ROOT / "docs" / "security.md").read_text("utf-8")
RULES = re.compile(r"\b(?:CKV_AWS_\d+|[EWI]\d{4})\b")


def test_every_rule_that_is_skipped_has_an_answer_and_no_other_has() -> None:
    checkov = yaml.safe_load((ROOT / ".checkov.yaml").read_text("utf-8"))["skip-check"]
    (cfn_lint,) = re.findall(
        r"--ignore-checks ((?:I\d+ )+)", (ROOT / "scripts" / "audit").read_text("utf-8")
    )
    answered = RULES.findall("".join(re.findall(r"^\| ([^|]*)\|", ANSWERS, re.M)))

    assert sorted(answered) == sorted([*checkov, *cfn_lint.split()])
