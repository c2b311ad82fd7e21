"""What only the cloud's stores can get wrong: several requests to several services."""

import copy
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.stub import Stubber

from idea_explorer.adapters.dynamodb.events import MAX_GROUP, DynamoEventLog
from idea_explorer.adapters.dynamodb.expressions import Put, Write
from idea_explorer.adapters.dynamodb.schema import (
    BY_OWNER,
    BY_STATUS,
    ENTRY,
    RECORD,
    Item,
    encode,
    lease_key,
)
from idea_explorer.adapters.dynamodb.table import ATTEMPTS, Table
from idea_explorer.adapters.dynamodb.texts import CloudTranscripts
from idea_explorer.domain.errors import LeaseLostError, RateLimitedError, UpstreamTimeoutError
from idea_explorer.domain.events import ErrorEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import id_from_key
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import hash_text
from idea_explorer.domain.transcript_json import dump_entry
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.clock import ManualClock
from tests.fakes.explorations import NOW, an_exploration, said, words

LARGE = said(" ".join(hash_text(str(number)) for number in range(200)))  # also when compressed


@pytest.fixture
def stores(aws: Settings) -> Deps:
    return cloud_deps(aws, SilentLog())


@pytest.fixture
def running(stores: Deps) -> Exploration:
    exploration = an_exploration()
    stores.explorations.create(exploration)
    return stores.explorations.take_over(exploration.id, lambda e: e.started(at=NOW))


def items(settings: Settings, prefix: str) -> list[dict[str, Any]]:
    client: Any = boto3.client("dynamodb")
    found = client.scan(TableName=settings.table_name)["Items"]
    return [item for item in found if item["sk"]["S"].startswith(prefix)]


def test_an_object_that_the_table_does_not_point_to_does_not_count(
    aws: Settings, stores: Deps, running: Exploration
) -> None:
    transcript = stores.transcripts.open(running.id, running.lease)
    transcript.append(LARGE)
    s3: Any = boto3.client("s3")
    (written,) = s3.list_objects_v2(Bucket=aws.bucket_name)["Contents"]
    orphan = written["Key"].replace("/000000-", "/000001-")
    s3.put_object(Bucket=aws.bucket_name, Key=orphan, Body=zlib.compress(dump_entry(said("two"))))

    assert list(stores.transcripts.open(running.id, running.lease).entries) == [LARGE]
    transcript.append(said("three"))
    assert list(stores.transcripts.open(running.id, running.lease).entries) == [
        LARGE,
        said("three"),
    ]


def test_a_small_entry_is_in_the_table_and_a_large_one_in_the_bucket(
    aws: Settings, stores: Deps, running: Exploration
) -> None:
    transcript = stores.transcripts.open(running.id, running.lease)
    for entry in (said("one"), LARGE, said("two")):
        transcript.append(entry)

    assert ["data" in item for item in items(aws, ENTRY)] == [True, False, True]
    s3: Any = boto3.client("s3")
    assert len(s3.list_objects_v2(Bucket=aws.bucket_name)["Contents"]) == 1
    assert stores.transcripts.open(running.id, running.lease).entries == transcript.entries


def test_a_run_that_an_earlier_version_left_without_a_lease_item_is_taken_over(
    aws: Settings, stores: Deps, running: Exploration
) -> None:
    client: Any = boto3.client("dynamodb")
    client.delete_item(TableName=aws.table_name, Key=encode(lease_key(running.id)))
    with pytest.raises(LeaseLostError):
        stores.transcripts.open(running.id, running.lease).append(said("nobody's"))

    taken = stores.explorations.take_over(running.id, lambda e: e)
    stores.transcripts.open(taken.id, taken.lease).append(said("one"))

    assert stores.transcripts.open(taken.id, taken.lease).entries == (said("one"),)


def test_what_a_zombie_wrote_to_the_bucket_replaces_nothing(
    stores: Deps, running: Exploration
) -> None:
    zombie = stores.transcripts.open(running.id, running.lease)
    taken = stores.explorations.take_over(running.id, lambda e: e)
    stores.transcripts.open(taken.id, taken.lease).append(said("mine"))

    with pytest.raises(LeaseLostError):
        zombie.append(said("late"))

    assert list(stores.transcripts.open(taken.id, taken.lease).entries) == [said("mine")]


def test_a_long_transcript_is_read_in_its_order(stores: Deps, running: Exploration) -> None:
    transcript = stores.transcripts.open(running.id, running.lease)
    for n in range(30):
        transcript.append(said(str(n)))

    assert list(stores.transcripts.open(running.id, running.lease).entries) == list(
        transcript.entries
    )


class LossyDynamoDB:
    """Makes a transaction once for each token, as DynamoDB does, and loses the responses to some.

    "A client request token is valid for 10 minutes after the first request that uses it is completed. After
    10 minutes, any request with the same client token is treated as a new request. … If you submit a request
    with the same client token but a change in other parameters within the 10-minute idempotency window,
    DynamoDB returns an IdempotentParameterMismatch exception." (API reference of TransactWriteItems)
    """

    TOKEN_SECONDS = 600

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._made: dict[str, tuple[float, dict[str, Any]]] = {}
        self._count = 0
        self.lost: set[int] = set()  # numbers of calls, from 1 on
        self.clock = ManualClock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def transact_write_items(self, **request: Any) -> None:
        self._count += 1
        token, now = request["ClientRequestToken"], self.clock.monotonic()
        made_at, made = self._made.get(token, (-math.inf, request))
        if now - made_at > self.TOKEN_SECONDS:
            self._inner.transact_write_items(**request)
            self._made[token] = now, copy.deepcopy(request)
        elif request != made:
            code = "IdempotentParameterMismatchException"
            raise ClientError({"Error": {"Code": code}}, "TransactWriteItems")
        if self._count in self.lost:
            raise ReadTimeoutError(endpoint_url="https://dynamodb")


@pytest.fixture
def lossy(aws: Settings) -> LossyDynamoDB:
    return LossyDynamoDB(boto3.client("dynamodb"))


@pytest.fixture
def transcripts(aws: Settings, lossy: LossyDynamoDB, stores: Deps) -> CloudTranscripts:
    assert aws.table_name
    assert isinstance(stores.transcripts, CloudTranscripts)
    return CloudTranscripts(
        Table(aws.table_name, lambda: lossy, lossy.clock), stores.transcripts._bucket
    )


def test_an_append_whose_response_was_lost_is_stored_once(
    stores: Deps, transcripts: CloudTranscripts, lossy: LossyDynamoDB, running: Exploration
) -> None:
    transcript = transcripts.open(running.id, running.lease)
    transcript.add_event(words("Bees"))
    lossy.lost = {1}
    with pytest.raises(UpstreamTimeoutError):
        transcript.append(said("one"))
    transcript.add_event(words(" are small."))

    transcript.append(said("two"))

    stored = stores.transcripts.open(running.id, running.lease)
    assert list(stored.entries) == [said("one"), said("two")]
    assert [json.loads(event.data)["content"] for event in stores.events.read(running.id)] == [
        "Bees",
        " are small.",
    ]


def test_a_token_that_dynamodb_has_forgotten_stores_nothing_twice(
    stores: Deps, transcripts: CloudTranscripts, lossy: LossyDynamoDB, running: Exploration
) -> None:
    transcript = transcripts.open(running.id, running.lease)
    transcript.add_event(words("Bees"))
    lossy.lost = {1}
    with pytest.raises(UpstreamTimeoutError):
        transcript.append(said("one"))
    lossy.clock.pass_time(LossyDynamoDB.TOKEN_SECONDS + 1)

    with pytest.raises(LeaseLostError):
        transcript.flush()

    assert list(stores.transcripts.open(running.id, running.lease).entries) == [said("one")]
    assert len(stores.events.read(running.id)) == 1


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_more_events_than_a_transaction_takes_are_stored_once_whichever_response_is_lost(
    stores: Deps,
    transcripts: CloudTranscripts,
    lossy: LossyDynamoDB,
    running: Exploration,
    lost: int,
) -> None:
    transcript = transcripts.open(running.id, running.lease)
    count = 2 * MAX_GROUP + 10
    for number in range(count):
        transcript.add_event(ErrorEvent(code="INTERNAL_ERROR", message=str(number)))
    transcript.add(said("one"))
    lossy.lost = {lost}
    with pytest.raises(UpstreamTimeoutError):
        transcript.flush()

    transcript.flush()

    stored = [json.loads(event.data)["message"] for event in stores.events.read(running.id)]
    assert stored == [str(number) for number in range(count)]
    assert list(stores.transcripts.open(running.id, running.lease).entries) == [said("one")]


def test_a_save_during_a_take_over_is_not_lost(stores: Deps, running: Exploration) -> None:
    saved: list[Exploration] = []

    def save_meanwhile(before: Exploration) -> Exploration:
        if not saved:
            saved.append(running.replace(title="kept"))
            stores.explorations.save(saved[0])
        return before

    assert stores.explorations.take_over(running.id, save_meanwhile).run.title == "kept"


def test_a_cancel_request_during_a_take_over_is_not_lost(
    stores: Deps, running: Exploration
) -> None:
    def cancel_meanwhile(before: Exploration) -> Exploration:
        if not before.cancel_requested:
            stores.explorations.request_cancel(running.id)
        return before

    assert stores.explorations.take_over(running.id, cancel_meanwhile).cancel_requested
    assert stores.explorations.is_cancelled(running.id)


def test_two_processes_number_one_history(aws: Settings, running: Exploration) -> None:
    worker, api = cloud_deps(aws, SilentLog()).events, cloud_deps(aws, SilentLog()).events
    worker.append(running.id, running.lease, words("1"))
    api.append(running.id, None, words("2"))
    api.append(running.id, None, words("3"))
    worker.append(running.id, running.lease, words("4"))

    events = worker.read(running.id)
    assert [(e.number, json.loads(e.data)["content"]) for e in events] == [
        (1, "1"),
        (2, "2"),
        (3, "3"),
        (4, "4"),
    ]


def test_a_large_history_is_read_piece_by_piece(stores: Deps, running: Exploration) -> None:
    for _ in range(6):
        stores.events.append(running.id, running.lease, words("x" * 290_000))

    seen: list[int] = []
    pieces = 0
    while events := stores.events.read(running.id, after=seen[-1] if seen else 0):
        seen += [event.number for event in events]
        pieces += 1

    assert seen == [1, 2, 3, 4, 5, 6]
    assert pieces > 1


def test_only_what_is_not_final_is_in_the_index_by_status(
    aws: Settings, stores: Deps, running: Exploration
) -> None:
    (item,) = items(aws, RECORD)
    assert item["active"] == {"S": "running"}

    stores.explorations.save(running.finished("completed", at=NOW))

    (item,) = items(aws, RECORD)
    assert "active" not in item
    assert item["status"] == {"S": "completed"}


def test_the_largest_request_fits_an_item(aws: Settings, stores: Deps) -> None:
    request = ExploreRequest(idea="\x01" * 9_998 + "ab", context="🐝\x01" * 25_000)
    exploration = an_exploration(request=request)

    assert stores.explorations.create(exploration)
    assert stores.explorations.load(exploration.id).request == request


def test_a_secret_of_the_request_is_in_no_readable_attribute(aws: Settings, stores: Deps) -> None:
    request = ExploreRequest(idea="x", callback_secret="a_very_secret_key")
    stores.explorations.create(an_exploration(request=request))

    (item,) = items(aws, RECORD)
    assert "very_secret" not in str(item)


# Answers that moto never gives


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    return boto3.client("dynamodb", region_name="eu-central-1")


def cancelled_by(*reasons: str) -> dict[str, Any]:
    return {"CancellationReasons": [{"Code": reason} for reason in reasons]}


def refuse_event(stub: Stubber, *reasons: str) -> None:
    stub.add_client_error(
        "transact_write_items",
        "TransactionCanceledException",
        modeled_fields=cancelled_by(*reasons),
    )


def test_a_transaction_that_met_another_is_tried_again(api: Any) -> None:
    clock = ManualClock()
    log = DynamoEventLog(Table("t", lambda: api, clock))
    with Stubber(api) as stub:
        stub.add_response("query", {"Items": []})
        refuse_event(stub, "TransactionConflict", "None")
        refuse_event(stub, "None", "ThrottlingError")
        stub.add_response("transact_write_items", {})

        log.append(an_exploration().id, 1, words("x"))

        stub.assert_no_pending_responses()
    assert len(clock.slept) == 2


def test_an_item_that_stays_busy_is_a_failure_worth_another_try(api: Any) -> None:
    log = DynamoEventLog(Table("t", lambda: api, ManualClock()))
    with Stubber(api) as stub:
        stub.add_response("query", {"Items": []})
        for _ in range(ATTEMPTS):
            refuse_event(stub, "TransactionConflict", "None")

        with pytest.raises(RateLimitedError) as busy:
            log.append(an_exploration().id, 1, words("x"))
    assert busy.value.retryable


class Transactions:
    """DynamoDB's side of transactions: fails as it is told, and remembers their tokens."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.tokens: list[str] = []

    def transact_write_items(self, *, TransactItems: object, ClientRequestToken: str) -> None:  # noqa: N803
        self.tokens.append(ClientRequestToken)
        if self.failures:
            raise self.failures.pop(0)


def refusal(*reasons: str) -> ClientError:
    error = {"Error": {"Code": "TransactionCanceledException"}, **cancelled_by(*reasons)}
    return ClientError(error, "TransactWriteItems")  # type: ignore[arg-type]


def writes_of(number: int) -> list[Write]:
    return [Put({"pk": str(number), "sk": side}) for side in "ab"]


def test_a_transaction_whose_answer_was_lost_is_made_once() -> None:
    """By its token, which DynamoDB knows for ten minutes."""
    api = Transactions(ReadTimeoutError(endpoint_url="https://dynamodb"))
    table = Table("t", lambda: api, ManualClock())
    with pytest.raises(UpstreamTimeoutError):
        table.write(writes_of(1))
    table.write(writes_of(2))
    table.write(writes_of(1))
    table.write(writes_of(1))

    lost, other, again, new = api.tokens
    assert lost == again
    assert len({lost, other, new}) == 3


def test_a_transaction_that_was_refused_is_another_one_the_next_time() -> None:
    api = Transactions(refusal("TransactionConflict", "None"))
    Table("t", lambda: api, ManualClock()).write(writes_of(1))

    refused, made = api.tokens
    assert refused != made


def test_a_batch_answered_in_part_is_asked_for_the_rest(api: Any) -> None:
    clock = ManualClock()
    keys = [{"pk": name, "sk": "x"} for name in "abc"]
    asked = [{"pk": {"S": name}, "sk": {"S": "x"}} for name in "abc"]
    with Stubber(api) as stub:
        rest = {"t": {"Keys": asked[:2]}}
        stub.add_response(
            "batch_get_item", {"Responses": {"t": asked[2:]}, "UnprocessedKeys": rest}
        )
        stub.add_response("batch_get_item", {"Responses": {"t": asked[:2]}})

        found = Table("t", lambda: api, clock).get_many(keys)

    assert found == keys
    assert len(clock.slept) == 1


def test_a_whole_exploration_runs_on_them(aws: Settings) -> None:
    deps = cloud_deps(aws, SilentLog())
    exploration = submit(ExploreRequest(idea="A library of tools"), "ada", deps)

    ended = explore(exploration.id, 1, deps)

    assert ended.run.outcome == "completed"
    assert deps.reports.load_report(ended.id).startswith("# ")
    events = deps.events.read(ended.id)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert [events[0].type, events[-1].type] == ["status_changed", "message_end"]
    transcript = deps.transcripts.open(ended.id, ended.lease)
    assert {entry.kind for entry in transcript.entries} >= {"opening", "asked", "answered"}


def hold_slot(settings: Settings, name: str, owner: str = "ada") -> None:
    """Hold a slot without a reason, as a table restored from a backup may."""
    client: Any = boto3.client("dynamodb")
    client.update_item(
        TableName=settings.table_name,
        Key={"pk": {"S": "SLOTS"}, "sk": {"S": "SLOTS"}},
        UpdateExpression="ADD holders :holder",
        ExpressionAttributeValues={":holder": {"SS": [f"{name} {owner}"]}},
    )


def test_slots_that_are_held_for_nothing_are_freed(aws: Settings, stores: Deps) -> None:
    ended, waiting = an_exploration(status="failed"), an_exploration()
    for exploration in (ended, waiting):
        stores.explorations.create(exploration)
        hold_slot(aws, exploration.id)
    hold_slot(aws, str(id_from_key("nobody", "gone")), owner="an owner with spaces")

    assert stores.admission.free_stale_slots() == 3
    assert stores.admission.slots().holders == {}


def test_a_slot_is_not_freed_if_its_holder_has_started_meanwhile(
    aws: Settings, stores: Deps, monkeypatch: pytest.MonkeyPatch
) -> None:
    exploration = an_exploration()
    stores.explorations.create(exploration)
    hold_slot(aws, exploration.id)
    admission = stores.admission
    read = Table.get_many

    def start_after_reading(table: Table, keys: Sequence[Mapping[str, str]]) -> list[Item]:
        found = read(table, keys)
        stores.explorations.take_over(exploration.id, lambda e: e.started(at=NOW), slots=5)
        return found

    monkeypatch.setattr(Table, "get_many", start_after_reading)

    assert admission.free_stale_slots() == 0
    assert set(admission.slots().holders) == {exploration.id}


def test_only_records_are_in_the_indexes(aws: Settings, stores: Deps) -> None:
    stores.explorations.create(an_exploration())
    client: Any = boto3.client("dynamodb")

    for index in (BY_OWNER, BY_STATUS):
        found = client.scan(TableName=aws.table_name, IndexName=index)["Items"]
        assert [item["sk"]["S"] for item in found] == [RECORD]


# entries and events that fit into one transaction only apart from each other, and those that need three each
@pytest.mark.parametrize(
    ("entries", "lost"), [(70, None), (70, 2), (170, None), (170, 1), (170, 3)]
)
def test_a_step_of_any_size_is_stored_once_in_transactions_that_dynamodb_takes(
    stores: Deps,
    transcripts: CloudTranscripts,
    lossy: LossyDynamoDB,
    running: Exploration,
    entries: int,
    lost: int | None,
) -> None:
    transcript = transcripts.open(running.id, running.lease)
    for number in range(entries):
        transcript.add(said(str(number)))
        transcript.add_event(ErrorEvent(code="INTERNAL_ERROR", message=str(number)))
    transcript.set_record(running.replace(title="Bees"))
    lossy.lost = {lost} if lost else set()

    with suppress(UpstreamTimeoutError):
        transcript.flush()
    transcript.flush()

    again = stores.transcripts.open(running.id, running.lease)
    assert list(again.entries) == [said(str(number)) for number in range(entries)]
    assert len(stores.events.read(running.id)) == entries
    assert stores.explorations.load(running.id).run.title == "Bees"
