"""A deployment on this machine: what template.yaml declares, made of moto's services and our functions.

Queue, table, bucket, secrets and state machine are created with the template's own properties; the
functions run from the source tree with the template's variables. Several stacks share one machine.
"""

import dataclasses
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, id_from_key
from idea_explorer.domain.queue_messages import QUEUE_OWNER
from idea_explorer.domain.run import FINAL, Status
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import cloud_deps
from tests.e2e.harness import iam
from tests.e2e.harness.account import NEW_ACCOUNT
from tests.e2e.harness.asynchronous import AsyncPolicy, RulePolicy, RuleTarget
from tests.e2e.harness.delivery import Background, EndedExecutions, QueueSource, Schedule
from tests.e2e.harness.functions import Functions
from tests.e2e.harness.gateway import Gateway
from tests.e2e.harness.operator import describe_stack
from tests.e2e.harness.runtime import Answer, Environment, Function
from tests.e2e.harness.services import CREDENTIALS, Rules, Services
from tests.e2e.harness.template import (
    ACCOUNT,
    REGION,
    ROOT,
    Resolver,
    as_json,
    listed,
    names_of_function,
    policies_of,
    properties,
    resources_of,
    state_machine,
    template,
    variables_of,
)

PATIENCE_SECONDS = 60.0
POLLERS = 5  # of an event source that declares no maximum
NOT_IN_MOTO = ("PointInTimeRecoverySpecification", "SSESpecification", "TimeToLiveSpecification")


@dataclass(frozen=True)
class Options:
    """How a stack differs from the template. Functions are named by their logical id; `environment`
    is for all of them, `warm` are those to start ahead of their first use. Each stack is alone in an
    account with `concurrency` concurrent executions. The schedule runs only if `sweep_seconds` says how
    often; a test sweeps when it wants to."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, Path] = field(default_factory=dict)
    reserved: Mapping[str, int] = field(default_factory=dict)
    visibility_seconds: int | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    warm: tuple[str, ...] = ()
    concurrency: int = NEW_ACCOUNT
    sweep_seconds: float | None = None
    denied: Mapping[str, frozenset[str]] = field(default_factory=dict)  # actions, by role


class Stack:
    def __init__(self, services: Services, functions: Functions, options: Options) -> None:
        self.services = services
        self.functions = functions
        self.name = f"stack-{uuid.uuid4().hex[:8]}"
        self._options = options
        self.refusals = functions.folder / f"{self.name}.refusals"
        self._names: dict[str, Any] = {"AWS::StackName": self.name, **options.parameters}
        self.account = functions.open_account(self.name, options.concurrency)
        self._create_state()
        self._create_queues()
        self._name_functions()
        self._create_workflow()
        self._add_functions()
        self.stores = cloud_deps(
            Settings(
                table_name=self._names["ExplorationsTable"],
                bucket_name=self._names["ExplorationsBucket"],
                aws_endpoint_url=services.url,
            ),
            SilentLog(),
        )
        streams = Resolver(self._names).holds("StreamsEvents")
        self.gateway = Gateway(
            functions,
            self.named("ApiFunction"),
            self.named("AuthorizeFunction"),
            self.named("FollowFunction") if streams else None,
        )
        self._ended = self._ended_executions()
        self.source = self._queue_source()
        self._background = [
            Background(self.source.deliver, threads=self._pollers()),
            Background(self._ended.tell),
        ]
        if options.sweep_seconds is not None:
            self._background.append(Background(self._sweeps(options.sweep_seconds).tick))
        services.operator.set_source(self._names["ExplorationsQueue.Arn"], "Enabled")
        services.operator.stacks[self.name] = describe_stack(
            self.name, self._names, self.gateway.url
        )
        for function in options.warm:
            functions.warm(self.named(function))

    def close(self) -> None:
        self.source.stop()
        for background in self._background:
            background.close()
        self.gateway.close()

    # What tests do

    def named(self, function: str) -> str:
        name: str = self._names[function]
        return name

    def invoke(self, function: str, event: Any) -> Answer:
        return self.functions.invoke(self.named(function), event)

    def send(self, body: object, *, times: int = 1) -> list[ExplorationId]:
        """Send a raw message; gives the id that each delivery's exploration would have."""
        text = body if isinstance(body, str) else json.dumps(body)
        key = body.get("dedup_key") if isinstance(body, dict) else None
        sent = [
            self.services.client("sqs").send_message(QueueUrl=self.queue_url, MessageBody=text)
            for _ in range(times)
        ]
        return [id_from_key(QUEUE_OWNER, key or answer["MessageId"]) for answer in sent]

    def send_all(self, bodies: Sequence[object]) -> None:
        """Send up to ten raw messages at once."""
        entries = [
            {"Id": str(number), "MessageBody": json.dumps(body)}
            for number, body in enumerate(bodies)
        ]
        self.services.client("sqs").send_message_batch(QueueUrl=self.queue_url, Entries=entries)

    def load(self, exploration_id: str) -> Exploration:
        return self.stores.explorations.load(ExplorationId(exploration_id))

    def status(self, exploration_id: str) -> Status | None:
        try:
            return self.load(exploration_id).status
        except MissingError:
            return None

    def wait_until_final(
        self, exploration_id: str, *, seconds: float = PATIENCE_SECONDS
    ) -> Exploration:
        self.wait(lambda: self.status(exploration_id) in FINAL, seconds=seconds)
        return self.load(exploration_id)

    def wait(self, happened: Callable[[], bool], *, seconds: float = PATIENCE_SECONDS) -> None:
        until = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > until:
                raise TimeoutError(f"it did not happen within {seconds} s\n{self.logs()}")
            time.sleep(0.2)

    def wait_for_execution(self, exploration_id: str, run: int = 1) -> str:
        """How the execution of a run ended."""
        self.wait(lambda: self.execution(exploration_id, run)["status"] != "RUNNING")
        return str(self.execution(exploration_id, run)["status"])

    def start(self, exploration: Exploration, machine: str) -> None:
        """Start a run on a variant of the workflow, as dispatch does on the stack's own."""
        given = {
            "id": exploration.id,
            "run": exploration.run.number,
            "deadline_seconds": exploration.request.deadline_seconds,
        }
        self.services.client("stepfunctions").start_execution(
            stateMachineArn=machine,
            name=f"{exploration.id}-{exploration.run.number}",
            input=json.dumps(given),
        )

    def execution(self, exploration_id: str, run: int = 1) -> dict[str, Any]:
        arn = self.machine.replace(":stateMachine:", ":execution:")
        states = self.services.client("stepfunctions")
        found: dict[str, Any] = states.describe_execution(
            executionArn=f"{arn}:{exploration_id}-{run}"
        )
        return found

    def stop_execution(self, exploration_id: str, run: int = 1) -> None:
        arn = self.execution(exploration_id, run)["executionArn"]
        self._ended.stop(arn, seconds=PATIENCE_SECONDS)

    def executions(self) -> list[dict[str, Any]]:
        states = self.services.client("stepfunctions")
        found: list[dict[str, Any]] = states.list_executions(stateMachineArn=self.machine)[
            "executions"
        ]
        return found

    def count_executions(self) -> int:
        pages = self.services.client("stepfunctions").get_paginator("list_executions")
        return sum(len(page["executions"]) for page in pages.paginate(stateMachineArn=self.machine))

    def waiting_messages(self) -> int:
        """How many messages are in the queue, under way or delayed."""
        names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ]
        answer = self.services.client("sqs").get_queue_attributes(
            QueueUrl=self.queue_url, AttributeNames=names
        )
        return sum(int(answer["Attributes"][name]) for name in names)

    def dead_letters(self) -> list[str]:
        """The bodies of what was set aside, which are gone from there afterwards."""
        sqs = self.services.client("sqs")
        answer = sqs.receive_message(
            QueueUrl=self.dead_letter_queue_url, MaxNumberOfMessages=10, VisibilityTimeout=600
        )
        return [message["Body"] for message in answer.get("Messages", [])]

    def sweep(self) -> Answer:
        return self.invoke("DispatchFunction", sweep_event())

    def recursive_drops(self) -> dict[str, int]:
        """How many invocations of each function Lambda has dropped as a recursive loop; none is {}."""
        names = [self.named(function) for function in resources_of("AWS::Serverless::Function")]
        drops = self.functions.recursive_drops
        return {name: drops[name] for name in names if drops[name]}

    def lost_events(self) -> dict[str, int]:
        """How many asynchronous events of each function were given up and are nowhere; none is {}."""
        names = [self.named(function) for function in resources_of("AWS::Serverless::Function")]
        lost = self.services.asynchronous.lost
        return {name: lost[name] for name in names if lost[name]}

    def kill(self, function: str) -> int:
        return self.functions.kill(self.named(function))

    def restart(self) -> None:
        """End every process of every function."""
        for function in resources_of("AWS::Serverless::Function"):
            self.functions.restart(self.named(function))

    def delete_role(self, role: str) -> None:
        self.services.operator.deleted_roles.add(f"{self.name}-{role}")

    def disconnect_queue(self) -> None:
        """Disable the event source: nobody takes messages from the queue any more."""
        self._background[0].close()
        self.services.operator.set_source(self._names["ExplorationsQueue.Arn"], "Disabled")

    def set_secret(self, resource: str, value: str) -> None:
        self.services.client("secretsmanager").put_secret_value(
            SecretId=self._names[resource], SecretString=value
        )

    def refused(self) -> list[str]:
        """The calls so far that the role of a function did not allow."""
        return self.refusals.read_text("utf-8").splitlines() if self.refusals.exists() else []

    def logs(self) -> str:
        names = [self.named(function) for function in resources_of("AWS::Serverless::Function")]
        return "\n".join(f"--- {name}\n{self.functions.log(name)[-4_000:]}" for name in names)

    @property
    def queue_url(self) -> str:
        return str(self._names["ExplorationsQueue"])

    @property
    def dead_letter_queue_url(self) -> str:
        return str(self._names["DeadLetterQueue"])

    @property
    def machine(self) -> str:
        return str(self._names["ExplorationWorkflow"])

    # How it is put together

    def _resolved(self, resource: str) -> dict[str, Any]:
        resolved: dict[str, Any] = Resolver(self._names).resolve(properties(resource))
        return resolved

    def _only(self, function: str, *names: str) -> dict[str, Any]:
        """Some of a function's properties, its own or those that all functions share."""
        declared = {**template()["Globals"]["Function"], **properties(function)}
        wanted = {name: declared[name] for name in names if name in declared}
        resolved: dict[str, Any] = Resolver(self._names).resolve(wanted)
        return resolved

    def _create_state(self) -> None:
        declared = self._resolved("ExplorationsTable")
        table = {name: value for name, value in declared.items() if name not in NOT_IN_MOTO}
        self.services.client("dynamodb").create_table(TableName=self.name, **table)
        self._names["ExplorationsTable"] = self.name
        self._names["ExplorationsTable.Arn"] = (
            f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{self.name}"
        )
        self.services.client("s3").create_bucket(Bucket=self.name)
        self._names["ExplorationsBucket"] = self.name
        self._names["ExplorationsBucket.Arn"] = f"arn:aws:s3:::{self.name}"
        secrets = self.services.client("secretsmanager")
        for resource in resources_of("AWS::SecretsManager::Secret"):
            declared = self._resolved(resource)
            generated = "made-up-by-aws" if "GenerateSecretString" in declared else None
            value = self._options.secrets.get(resource) or declared.get("SecretString", generated)
            given = {"SecretString": value} if value else {}
            answer = secrets.create_secret(Name=declared["Name"], **given)
            self._names[resource] = answer["ARN"]

    def _create_queues(self) -> None:
        for resource in ("DeadLetterQueue", "FailedCallsQueue", "ExplorationsQueue"):
            declared = self._resolved(resource)
            if self._options.visibility_seconds is not None and "VisibilityTimeout" in declared:
                declared["VisibilityTimeout"] = self._options.visibility_seconds
            attributes = {
                name: json.dumps(value) if isinstance(value, dict) else str(value)
                for name, value in declared.items()
            }
            sqs = self.services.client("sqs")
            url = sqs.create_queue(QueueName=f"{self.name}-{resource}", Attributes=attributes)[
                "QueueUrl"
            ]
            arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
            self._names[resource] = url
            self._names[f"{resource}.Arn"] = arn["Attributes"]["QueueArn"]

    def _name_functions(self) -> None:
        for resource in resources_of("AWS::Serverless::Function"):
            name = Resolver(self._names).resolve(properties(resource)["FunctionName"])
            self._names |= names_of_function(resource, name)
        for resource in resources_of("AWS::Logs::LogGroup"):
            self._names[f"{resource}.Arn"] = resource

    def _create_workflow(self) -> None:
        """Moto lets a workflow invoke any function; on AWS its role has to allow it, alias included."""
        given = properties("ExplorationWorkflow")["DefinitionSubstitutions"]
        role = iam.Policy(self._declared("WorkflowRole"))
        for reference in Resolver(self._names).resolve(given).values():
            need = iam.Need("lambda:InvokeFunction", reference)
            if ":function:" in reference and not role.allows(need):
                raise PermissionError(f"WorkflowRole does not allow {need}")
        self._names["ExplorationWorkflow"] = self._new_machine(self.name, self._names)
        self._names["ExplorationWorkflow.Name"] = self.name

    def _new_machine(self, name: str, names: Mapping[str, Any]) -> str:
        given = properties("ExplorationWorkflow")["DefinitionSubstitutions"]
        substitutions = Resolver(names).resolve(given)
        answer = self.services.client("stepfunctions").create_state_machine(
            name=name,
            definition=as_json(state_machine(substitutions, quick=True)),
            roleArn=f"arn:aws:iam::{ACCOUNT}:role/workflow",
        )
        return str(answer["stateMachineArn"])

    def variant(self, resource: str, code: Path) -> tuple[str, str]:
        """The stack's workflow with other code for one function; gives the machine and the name of
        that function."""
        name = f"{self.named(resource)}-{uuid.uuid4().hex[:8]}"
        self.functions.add(dataclasses.replace(self._function(resource), name=name, code=code))
        names = {**self._names, **names_of_function(resource, name)}
        return self._new_machine(f"{self.name}-{name}", names), name

    def _add_functions(self) -> None:
        for resource in resources_of("AWS::Serverless::Function"):
            self.functions.add(self._function(resource))
            policy = AsyncPolicy.of(self._only(resource, "EventInvokeConfig", "DeadLetterQueue"))
            self.services.asynchronous.configure(self.named(resource), policy)

    def _function(self, resource: str) -> Function:
        shared = template()["Globals"]["Function"]
        declared = {**shared, **properties(resource)}
        reserved = self._only(resource, "ReservedConcurrentExecutions")
        resolved = Resolver(self._names).resolve(variables_of(resource))
        return Function(
            name=self.named(resource),
            code=self._options.code.get(resource) or ROOT / declared["CodeUri"],
            timeout=float(declared["Timeout"]),
            memory=int(declared["MemorySize"]),
            environment={
                **CREDENTIALS,
                "AWS_ENDPOINT_URL": self.services.url,
                "AWS_ENDPOINT_URL_LAMBDA": self.services.functions_url,
                iam.POLICY: json.dumps(self._allowed(declared["Role"]["Fn::GetAtt"][0])),
                iam.REFUSALS: str(self.refusals),
                **{name: str(value) for name, value in resolved.items()},
                **self._options.environment,
            },
            python_path=(ROOT / "layers" / "core",),
            handler=declared["Handler"],
            reserved=self._options.reserved.get(resource, next(iter(reserved.values()), None)),
            account=self.name,
        )

    def _allowed(self, role: str) -> list[dict[str, list[str]]]:
        """What a role may do here, with the names that this stack has."""
        denied = self._options.denied.get(role, frozenset())
        return [
            {**entry, "actions": [action for action in entry["actions"] if action not in denied]}
            for entry in self._declared(role)
        ]

    def _declared(self, role: str) -> list[dict[str, list[str]]]:
        resolver = Resolver(self._names)
        statements = [
            resolver.resolve(statement)
            for condition, statement in policies_of(role)
            if condition is None or resolver.holds(condition)
        ]
        return [
            {
                "actions": listed(entry["Action"]),
                "resources": listed(entry["Resource"]),
                "keys": entry.get("Condition", {})
                .get("ForAllValues:StringEquals", {})
                .get("dynamodb:LeadingKeys", []),
            }
            for entry in statements
        ]

    def _queue_source(self) -> QueueSource:
        source = properties("DispatchFunction")["Events"]["Messages"]["Properties"]
        return QueueSource(
            self.services,
            self.functions,
            self.queue_url,
            self.named("DispatchFunction"),
            int(source.get("BatchSize", 10)),
        )

    def _pollers(self) -> int:
        source = properties("DispatchFunction")["Events"]["Messages"]["Properties"]
        return int(source.get("ScalingConfig", {}).get("MaximumConcurrency", POLLERS))

    def _ended_executions(self) -> EndedExecutions:
        rule = properties("ExploreFunction")["Events"]["Stopped"]["Properties"]
        return EndedExecutions(
            self.services,
            self.machine,
            self.named("ExploreFunction"),
            self._target("ExploreFunction", rule),
            rule["Pattern"],
        )

    def _sweeps(self, seconds: float) -> Schedule:
        schedule = properties("DispatchFunction")["Events"]["Sweep"]["Properties"]
        return Schedule(self._target("DispatchFunction", schedule), sweep_event(), seconds)

    def _target(self, resource: str, declared: Mapping[str, Any]) -> RuleTarget:
        policy = RulePolicy.of(Resolver(self._names).resolve(declared), self._names)
        accept = self.services.asynchronous.accept
        name = self.named(resource)
        return RuleTarget(lambda event: accept(name, event), self.services.send_to, policy)


def sweep_event() -> Any:
    return json.loads((ROOT / "events" / "dispatch-sweep.json").read_text("utf-8"))


class Machine:
    """Services and functions for any number of stacks, started once for many tests."""

    def __init__(
        self,
        folder: Path,
        rules: Rules | None = None,
        start: Callable[[Function, Path], Environment] = Environment,
    ) -> None:
        self.functions = Functions(folder, start)
        self.services = Services(self.functions, folder / "moto.log", rules or Rules())

    @contextmanager
    def stack(self, options: Options) -> Iterator[Stack]:
        stack = Stack(self.services, self.functions, options)
        try:
            yield stack
        finally:
            stack.close()
        assert stack.refused() == []

    def close(self) -> None:
        self.functions.close()
        self.services.close()


@contextmanager
def credentials() -> Iterator[None]:
    """For what this process itself asks of the services."""
    before = {name: os.environ.get(name) for name in CREDENTIALS}
    os.environ.update(CREDENTIALS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
