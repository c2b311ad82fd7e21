"""Idempotency keys with Powertools, stored in DynamoDB, or in SQLite on one machine."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    BasePersistenceLayer,
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import (
    STATUS_CONSTANTS,
    DataRecord,
)

from idea_explorer.adapters.dynamodb.schema import EXPIRES, IDEMPOTENCY, PK, SK
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.adapters.sqlite.schema import SCHEMA
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ConflictError, KeyTakenError, UnavailableError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.limits import KEY_SECONDS
from idea_explorer.ports.admission import Action

PREFIX = "submit"


@dataclass(frozen=True)
class _InvocationContext:
    """The part of Lambda's context that Powertools needs: when the key of a crashed call is free again."""

    seconds: float

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1_000)


class IdempotencyStore:
    """Stores a hash of the request and the whole response: responses must hold no secret."""

    def __init__(self, records: BasePersistenceLayer) -> None:
        self._records = records
        # here, before threads share it: Powertools would configure it during the first call
        records.configure(_config(None), key_prefix=PREFIX)

    def once(
        self, owner: str, key: str, request: JsonObject, act: Action, *, seconds: float
    ) -> JsonObject:
        def run(*, sent: JsonObject) -> JsonObject:  # noqa: ARG001  Powertools reads the key from it
            return act()

        guarded = idempotent_function(
            run,
            data_keyword_argument="sent",
            persistence_store=self._records,
            config=_config(_InvocationContext(seconds)),
            key_prefix=PREFIX,
        )
        try:
            response: JsonObject = guarded(sent={"owner": owner, "key": key, "request": request})
        except IdempotencyValidationError as error:
            raise KeyTakenError from error
        except (IdempotencyAlreadyInProgressError, IdempotencyInconsistentStateError) as error:
            raise ConflictError(
                "The first request with this Idempotency-Key is still in progress.",
                hint="Try again in a moment.",
            ) from error
        except IdempotencyPersistenceLayerError as error:
            raise UnavailableError("The store of idempotency keys is not available.") from error
        return response


def _config(context: Any) -> IdempotencyConfig:
    return IdempotencyConfig(
        event_key_jmespath="[owner, key]",
        payload_validation_jmespath="request",
        raise_on_no_idempotency_key=True,
        expires_after_seconds=KEY_SECONDS,
        hash_function="sha256",
        lambda_context=context,
    )


def dynamodb_records(table: str, client: Any) -> BasePersistenceLayer:
    """Records in the same table as the explorations."""
    return DynamoDBPersistenceLayer(
        table,
        key_attr=PK,
        sort_key_attr=SK,
        static_pk_value=IDEMPOTENCY,
        expiry_attr=EXPIRES,
        boto3_client=client,
    )


FREE = "expires < :now OR (status = :working AND locked_until < :now_ms)"


class SqliteRecords(BasePersistenceLayer):
    """Powertools' records in a SQLite file, with the same rules as its DynamoDB layer."""

    def __init__(self, path: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._database = Database(path, SCHEMA)

    def _get_record(self, idempotency_key: str) -> DataRecord:
        row = self._database.row(
            "SELECT key, status, expires, locked_until, answer, payload FROM idempotency"
            " WHERE key = ?",
            (idempotency_key,),
        )
        if row is None:
            raise IdempotencyItemNotFoundError
        return DataRecord(*row)

    def _put_record(self, data_record: DataRecord) -> None:
        now = datetime.now(UTC).timestamp()
        values = {
            "key": data_record.idempotency_key,
            "status": data_record.status,
            "expires": data_record.expiry_timestamp,
            "locked_until": data_record.in_progress_expiry_timestamp,
            "payload": data_record.payload_hash,
            "now": int(now),
            "now_ms": int(now * 1_000),
            "working": STATUS_CONSTANTS["INPROGRESS"],
        }
        with self._database.transaction() as db:
            db.execute(f"DELETE FROM idempotency WHERE {FREE}", values)  # noqa: S608  a constant  # nosec B608
            added = db.execute(
                "INSERT OR IGNORE INTO idempotency"
                " VALUES (:key, :status, :expires, :locked_until, :payload, '')",
                values,
            )
        if added.rowcount == 0:
            known = self._get_record(data_record.idempotency_key)
            self._validate_payload(data_record, known)
            raise IdempotencyItemAlreadyExistsError(old_data_record=known)

    def _update_record(self, data_record: DataRecord) -> None:
        self._database.execute(
            "UPDATE idempotency SET status = ?, expires = ?, answer = ? WHERE key = ?",
            (
                data_record.status,
                data_record.expiry_timestamp,
                data_record.response_data,
                data_record.idempotency_key,
            ),
        )

    def _delete_record(self, data_record: DataRecord) -> None:
        self._database.execute(
            "DELETE FROM idempotency WHERE key = ?", (data_record.idempotency_key,)
        )
