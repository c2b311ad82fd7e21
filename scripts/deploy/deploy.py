"""Deploy: collect what is missing, build, deploy, set secrets, make the first token, run the smoke test."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.tokens import make_token_record
from idea_explorer.ports import StackInfo
from idea_explorer.usecases import manage_tokens
from scripts.deploy.answers import Answers, Question
from scripts.deploy.builds import check_build, record_architecture
from scripts.deploy.concurrency import MAX_STREAMS, RESERVATIONS, plan_concurrency
from scripts.deploy.parameters import (
    check_names,
    check_rules,
    check_values,
    format_overrides,
    merge_parameters,
    read_stage,
    read_template,
    repository_name,
)
from scripts.deploy.release import stamp
from scripts.deploy.stack import Account, check_updatable
from scripts.supply_chain.sbom import render_sbom

STAGES = ("dev", "prod")
ARCHITECTURES = ("arm64", "x86_64")
# functions are named after it, in 64 characters
STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,47}")
# the output that names each secret, and the variable that its value is read from
SECRETS = {
    "github": ("GitHubSecretId", "GITHUB_TOKEN", "GitHub token"),
    "anthropic": ("AnthropicSecretId", "ANTHROPIC_API_KEY", "Anthropic key"),
}


@dataclass(frozen=True)
class Request:
    """What the command names. `built` is a folder with a build to deploy instead of a new one."""

    stack: str | None = None
    stage: str | None = None
    architecture: str | None = None
    region: str | None = None
    owner: str = "admin"
    parameters: Mapping[str, str] = field(default_factory=dict)
    built: Path | None = None


@dataclass(frozen=True)
class Region:
    """`is_known`: the environment or the profile names it, so that other commands use it too."""

    name: str
    is_known: bool

    @property
    def prefix(self) -> str:
        return "" if self.is_known else f"AWS_REGION={self.name} "


@dataclass(frozen=True)
class Tools:
    """What a deployment is made with. `sam` runs the SAM CLI and returns its exit code."""

    root: Path
    sam: Callable[[Sequence[str], Mapping[str, str]], int]
    smoke: Callable[[str], int]
    say: Callable[[str], None]
    answers: Answers
    account: Account
    clock: Clock
    use_region: Callable[[str], None]
    known_region: Callable[[], str | None]


def deploy(request: Request, tools: Tools) -> int:
    """Deploy or update a stack; returns the exit code of the smoke test."""
    samconfig = tools.root / "samconfig.toml"
    named_stage = _check_stage(request)
    settings = read_stage(samconfig, named_stage or STAGES[0])
    name = request.stack or settings.stack or ""
    if not STACK_NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{name!r} is not a valid stack name.",
            hint="Use up to 48 letters, digits and hyphens, beginning with a letter.",
        )
    template = read_template(tools.root / "template.yaml")
    declared = template["Parameters"]
    command = _check_command(request, declared)
    make_token_record("", request.owner, now=tools.clock.now())  # refuses what cannot be an owner
    region = _choose_region(request.region or settings.region, tools)
    stack = tools.account.find_stack(name)
    check_updatable(stack)
    deployed = stack.parameters if stack else {}
    stage = named_stage or deployed.get("Stage", STAGES[0])
    settings = read_stage(samconfig, stage)
    check_names(settings.parameters, declared, "samconfig.toml")
    check_values(settings.parameters, declared, "samconfig.toml")
    parameters = merge_parameters(
        defaults={key: str(value.get("Default", "")) for key, value in declared.items()},
        deployed=deployed,
        stage=settings.parameters,
        command=command,
    )
    check_rules(template.get("Rules", {}), parameters)
    named = {**settings.parameters, **command}
    tools.answers.collect(_questions(stack, parameters, named, tools))
    if "AlarmEmail" in tools.answers.found:
        named["AlarmEmail"] = tools.answers.found["AlarmEmail"]
        check_values({"AlarmEmail": named["AlarmEmail"]}, declared, "ALARM_EMAIL")
    fixed = {*RESERVATIONS, MAX_STREAMS}
    reserved = {name: value for name, value in settings.parameters.items() if name in fixed}
    named |= _plan(deployed, parameters, {**reserved, **command}, tools)
    architecture = parameters["Architecture"]
    named["Architecture"] = architecture

    build = request.built or _build(architecture, stage, tools)
    check_build(build, architecture)
    tools.say(
        f"Updating {name} in {region.name}, stage {stage}."
        if stack
        else f"Creating {name} in {region.name}, stage {stage}. This takes some minutes."
    )
    if not _deploy(name, region.name, stage, build, named, tools):
        raise ConfigurationError(
            f"The stack {name} could not be deployed.", hint=_after_failure(stack, name, region)
        )
    return _finish(name, request.owner, region, tools)


def _check_stage(request: Request) -> str | None:
    """The stage that the command names; without one, an update keeps that of the stack."""
    stage = request.stage or request.parameters.get("Stage")
    if stage not in {None, *STAGES}:
        raise InvalidRequestError(f"There is no stage {stage}.", hint=f"Use {' or '.join(STAGES)}.")
    if request.architecture and request.architecture not in ARCHITECTURES:
        raise InvalidRequestError(
            f"There is no architecture {request.architecture}.",
            hint=f"Use {' or '.join(ARCHITECTURES)}.",
        )
    return stage


def _check_command(request: Request, declared: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The parameters that the command names, checked before anything is asked or built."""
    check_names(request.parameters, declared, "the command")
    command = dict(request.parameters)
    if "GitHubRepository" in command:
        command["GitHubRepository"] = repository_name(command["GitHubRepository"])
    if request.architecture:
        command["Architecture"] = request.architecture
    check_values(command, declared, "the command")
    return command


def _choose_region(named: str | None, tools: Tools) -> Region:
    known = tools.known_region()
    region = named or known
    if not region:
        tools.answers.collect(
            [Question("region", "AWS_REGION", "AWS region, for example eu-central-1")]
        )
        region = tools.answers.found["region"]
    tools.use_region(region)
    return Region(region, is_known=region == known)


def _questions(
    stack: StackInfo | None,
    parameters: Mapping[str, str],
    named: Mapping[str, str],
    tools: Tools,
) -> list[Question]:
    """What neither the command, samconfig.toml nor the deployed stack knows."""
    questions = []
    if "AlarmEmail" not in named and not (stack and "AlarmEmail" in stack.parameters):
        text = "E-mail address for alarms (empty for none)"
        questions.append(Question("AlarmEmail", "ALARM_EMAIL", text, may_be_empty=True))
    needed = {
        "github": bool(parameters["GitHubRepository"]),
        "anthropic": parameters["Provider"] == "anthropic",
    }
    for name, (output, variable, text) in SECRETS.items():
        known = stack is not None and tools.account.has_value(stack, output)
        if needed[name] and not known:
            questions.append(Question(name, variable, text, secret=True))
    return questions


def _plan(
    deployed: Mapping[str, str],
    parameters: Mapping[str, str],
    command: Mapping[str, str],
    tools: Tools,
) -> Mapping[str, str]:
    limits = tools.account.limits(deployed)
    if limits is None:
        tools.say("You may not look at the account's limits, so nothing is set because of them.")
        return {}
    plan = plan_concurrency(limits, parameters, command, is_new=not deployed)
    tools.say(" ".join(plan.sentences))
    return plan.parameters


def _build(architecture: str, stage: str, tools: Tools) -> Path:
    """Into a folder of its own: another build may be for another architecture."""
    folder = tools.root / ".aws-sam" / f"deploy-{architecture}"
    tools.say(f"Building for {architecture}.")
    arguments = ["build", "--config-env", stage, "--build-dir", str(folder)]
    overrides = ["--parameter-overrides", f"Architecture={architecture}"]
    if tools.sam([*arguments, *overrides], {"ARCHITECTURE": architecture}) != 0:
        raise ConfigurationError("The build failed.", hint="The lines above say why.")
    record_architecture(folder, architecture)
    (folder / "sbom.cdx.json").write_text(render_sbom(), "utf-8")
    return folder


def _deploy(
    name: str, region: str, stage: str, build: Path, named: Mapping[str, str], tools: Tools
) -> bool:
    """Runs until CloudFormation is done; returns whether it succeeded. samconfig.toml says what else is set
    for the stage; SAM would look for it beside the built template."""
    overrides = format_overrides(named)
    stamp(build, overrides)
    arguments = [
        *("deploy", "--config-file", str(tools.root / "samconfig.toml"), "--config-env", stage),
        *("--template-file", str(build / "template.yaml")),
        *("--stack-name", name, "--region", region, "--no-fail-on-empty-changeset"),
        *([] if tools.answers.is_terminal else ["--no-confirm-changeset"]),
        *("--parameter-overrides", *overrides),
    ]
    return tools.sam(arguments, {}) == 0


def _after_failure(before: StackInfo | None, name: str, region: Region) -> str:
    if before:
        return "The lines above say why. What was running before is still running."
    given = "" if region.is_known else f" REGION={region.name}"
    return f"The lines above say why. 'make undeploy STACK={name}{given}' removes what is left."


def _finish(name: str, owner: str, region: Region, tools: Tools) -> int:
    stack = tools.account.find_stack(name)
    if stack is None:
        raise ConfigurationError(
            f"The stack {name} was not deployed.", hint="Confirm its change set."
        )
    for secret, (output, _, _) in SECRETS.items():
        if secret in tools.answers.found:
            tools.account.secrets.write(stack.outputs[output], tools.answers.found[secret])
            tools.say(f"The {secret} secret is set.")
    token = _first_token(stack, owner, region, tools)
    tools.say("")
    tools.say(f"API and console: {stack.outputs['ApiUrl']}")
    if dashboard := stack.outputs.get("DashboardUrl"):
        tools.say(f"Dashboard: {dashboard}")
    if email := tools.answers.found.get("AlarmEmail"):
        tools.say(f"Confirm the e-mail that AWS sends to {email}: alarms arrive only after that.")
    if token:
        tools.say(f"Token of {owner}, which is not shown again: {token}")
    tools.say("")
    code = tools.smoke(name)
    tools.say("")
    if code != 0:
        tools.say(f"Once that is repaired: {region.prefix}idea admin smoke --stack {name}")
        return code
    tools.say("Try it:")
    if not region.is_known:
        tools.say(f"  export AWS_REGION={region.name}")
    tools.say(f"  export IDEA_API_URL={stack.outputs['ApiUrl']} IDEA_API_TOKEN={token or '…'}")
    tools.say('  idea submit "A subscription box for urban beekeepers" --watch')
    return 0


def _first_token(stack: StackInfo, owner: str, region: Region, tools: Tools) -> str | None:
    secret, secrets = stack.outputs["ApiTokensSecretId"], tools.account.secrets
    if manage_tokens.list_tokens(None, secrets, secret):
        return None
    if not tools.answers.is_terminal:  # what is printed there is kept in a log
        command = f"{region.prefix}idea admin token add {owner} --stack {stack.name}"
        tools.say(f"Make the first token with: {command}")
        return None
    return manage_tokens.add_token(owner, secrets, secret, tools.clock)
