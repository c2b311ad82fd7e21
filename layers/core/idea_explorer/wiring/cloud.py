"""The AWS services and secrets of a deployment. Connects to none before it is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from idea_explorer.domain.errors import ConfigurationError

TOKENS_REREAD_SECONDS = 5.0

if TYPE_CHECKING:
    from idea_explorer.adapters.aws.s3 import Bucket
    from idea_explorer.adapters.dynamodb.table import Table
    from idea_explorer.domain.json import JsonObject
    from idea_explorer.ports import (
        Admission,
        DeadLetters,
        Deployment,
        Idempotency,
        Notices,
        Secrets,
        SecretStore,
        Spend,
        StreamSlots,
        Workflow,
        WorkQueue,
    )
    from idea_explorer.settings import Settings


class SecretsSettings(Protocol):
    """The settings that reading a secret needs."""

    @property
    def aws_endpoint_url(self) -> str | None: ...

    @property
    def secret_max_age_seconds(self) -> int: ...


class TokensSettings(SecretsSettings, Protocol):
    @property
    def api_tokens_secret_id(self) -> str | None: ...


def table(settings: Settings) -> Table:
    from idea_explorer.adapters.clock import SystemClock
    from idea_explorer.adapters.dynamodb.table import Table

    name = named("TABLE_NAME", settings.table_name)
    return Table(name, connect("dynamodb", settings), SystemClock())


def cloud_admission(settings: Settings) -> Admission:
    from idea_explorer.adapters.dynamodb.explorations import DynamoExplorations

    return DynamoExplorations(table(settings)).admission


def stream_slots(settings: Settings) -> StreamSlots:
    from idea_explorer.adapters.clock import SystemClock
    from idea_explorer.adapters.dynamodb.streams import DynamoStreamSlots

    return DynamoStreamSlots(table(settings), SystemClock(), settings.max_streams)


def cloud_spend(settings: Settings) -> Spend:
    from idea_explorer.adapters.dynamodb.spend import DynamoSpend

    return DynamoSpend(table(settings))


def idempotency(settings: Settings) -> Idempotency:
    from idea_explorer.adapters.idempotency import IdempotencyStore, dynamodb_records

    name = named("TABLE_NAME", settings.table_name)
    return IdempotencyStore(dynamodb_records(name, connect("dynamodb", settings)()))


def cloud_queue(settings: Settings) -> WorkQueue:
    from idea_explorer.adapters.aws.queue import SqsWorkQueue

    return SqsWorkQueue(
        named("QUEUE_URL", settings.queue_url),
        settings.dead_letter_queue_url,
        connect("sqs", settings),
    )


def cloud_workflow(settings: Settings) -> Workflow:
    from idea_explorer.adapters.aws.queue import StepFunctionsWorkflow

    arn = named("STATE_MACHINE_ARN", settings.state_machine_arn)
    return StepFunctionsWorkflow(arn, connect("stepfunctions", settings))


def cloud_notices(settings: Settings) -> Notices:
    from idea_explorer.adapters.aws.client import client
    from idea_explorer.adapters.aws.queue import LambdaNotices

    function = named("NOTIFY_FUNCTION_NAME", settings.notify_function_name)
    return LambdaNotices(function, partial(client, "lambda"))


def cloud_secrets(settings: SecretsSettings) -> Secrets:
    return _secrets(settings.aws_endpoint_url, settings.secret_max_age_seconds)


@cache  # one cache of secret values for all callers
def _secrets(endpoint_url: str | None, max_age_seconds: int) -> Secrets:
    from idea_explorer.adapters.aws.client import client
    from idea_explorer.adapters.aws.secrets import CloudSecrets
    from idea_explorer.adapters.clock import SystemClock

    connect = partial(client, "secretsmanager", endpoint_url)
    return CloudSecrets(connect, max_age_seconds, SystemClock())


def connect(service: str, settings: Settings) -> Callable[[], Any]:
    from idea_explorer.adapters.aws.client import client

    return partial(client, service, settings.aws_endpoint_url)


def bucket(settings: Settings) -> Bucket:
    from idea_explorer.adapters.aws.s3 import Bucket

    return Bucket(named("BUCKET_NAME", settings.bucket_name), connect("s3", settings))


def named(variable: str, value: str | None) -> str:
    if value is None:
        raise ConfigurationError(f"{variable} is not set.", hint="A deployment sets it.")
    return value


def answer_token(settings: Settings, token: str, output: JsonObject) -> bool:
    """End the wait of an execution. The token names it, so no state machine has to be configured."""
    from idea_explorer.adapters.aws.queue import StepFunctionsWorkflow

    return StepFunctionsWorkflow("", connect("stepfunctions", settings)).answer(token, output)


class ApiTokens:
    """The text of the API tokens secret."""

    def __init__(self, settings: TokensSettings) -> None:
        self._name = named("API_TOKENS_SECRET_ID", settings.api_tokens_secret_id)
        self._secrets = cloud_secrets(settings)
        from idea_explorer.adapters.clock import SystemClock

        self._clock = SystemClock()
        self._fetched = -math.inf

    def read(self) -> str:
        """From the cache, if it is there."""
        return self._secrets.get(self._name)

    def reread(self) -> str:
        """As it is stored now, or was seconds ago: whoever sends unknown tokens decides how often this
        is called."""
        now = self._clock.monotonic()
        due = now - self._fetched >= TOKENS_REREAD_SECONDS
        if due:
            self._fetched = now
        return self._secrets.get(self._name, fresh=due)


def operator_secrets(settings: Settings) -> SecretStore:
    from idea_explorer.adapters.aws.secrets import OperatorSecrets

    return OperatorSecrets(connect("secretsmanager", settings))


def deployment(settings: Settings, stack: str) -> Deployment:
    from idea_explorer.adapters.aws.client import client
    from idea_explorer.adapters.aws.deployment import CloudDeployment

    return CloudDeployment(stack, lambda service: client(service, settings.aws_endpoint_url))


def stack_outputs(settings: Settings, stack: str) -> Mapping[str, str]:
    return deployment(settings, stack).describe().outputs


def cloud_dead_letters(
    settings: Settings, *, queue_url: str, dead_letter_queue_url: str, failed_calls_queue_url: str
) -> DeadLetters:
    from idea_explorer.adapters.aws.dead_letters import SqsDeadLetters

    return SqsDeadLetters(
        queue_url,
        dead_letter_queue_url,
        failed_calls_queue_url,
        connect("sqs", settings),
        connect("lambda", settings),
    )
