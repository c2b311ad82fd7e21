"""Approval requests and decisions: their text in the bucket, pointers to it in the table.

The object is written first and counts only once the table points to it. A request is one item; a
decision updates it on the condition that it has none yet, so the first decision stands.
"""

import hashlib
import zlib
from collections.abc import Sequence

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.dynamodb.schema import (
    APPROVAL,
    PK,
    SK,
    Item,
    approval_key,
    approval_token_key,
)
from idea_explorer.adapters.dynamodb.table import Condition, ConditionNotMetError, Table
from idea_explorer.adapters.records import no_such_approval
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.ids import ExplorationId

ZLIB = "application/zlib"


class CloudApprovals:
    def __init__(self, table: Table, bucket: Bucket) -> None:
        self._table = table
        self._bucket = bucket

    def request_approval(self, approval: Approval) -> None:
        key = approval_key(approval.exploration_id, approval.id)
        if self._table.get(key, SK) is None:
            number = self._next_number(approval.exploration_id)
            self._table.put_new({**key, "object": self._upload(approval), "number": number})

    def approvals(self, exploration_id: ExplorationId) -> Sequence[Approval]:
        items = sorted(self._items(exploration_id), key=lambda item: (item["number"], item[SK]))
        found = self._bucket.get_all([item["object"] for item in items])
        return [_restore(data) for data in found]

    def decide(self, decided: Approval) -> Approval:
        key = approval_key(decided.exploration_id, decided.id)
        uploaded = self._upload(decided)
        try:
            self._table.update(
                key,
                "SET #object = :object, #decided = :decided",
                {"object": uploaded, "decided": str(decided.decision)},
                when=f"attribute_exists(#{PK}) AND attribute_not_exists(#decided)",
            )
        except ConditionNotMetError as refused:
            stored = self._table.get(key, "object")
            if stored is None:
                raise no_such_approval(decided.id) from refused
            return _restore(self._bucket.get(stored["object"]))
        return decided

    def keep_token(self, exploration_id: ExplorationId, token: str) -> None:
        self._table.put({**approval_token_key(exploration_id), "token": token})

    def token(self, exploration_id: ExplorationId) -> str | None:
        item = self._table.get(approval_token_key(exploration_id), "token")
        return str(item["token"]) if item else None

    def _items(self, exploration_id: ExplorationId) -> list[Item]:
        where = Condition(
            f"#{PK} = :id AND begins_with(#{SK}, :approval)",
            {"id": exploration_id, "approval": APPROVAL},
        )
        return [item for page in self._table.query(where) for item in page]

    def _next_number(self, exploration_id: ExplorationId) -> int:
        """Only one worker at a time requests approvals, so counting is enough."""
        return len(self._items(exploration_id)) + 1

    def _upload(self, approval: Approval) -> str:
        data = zlib.compress(approval.model_dump_json().encode())
        digest = hashlib.sha256(data).hexdigest()[:16]
        key = f"approvals/{approval.exploration_id}/{approval.id}-{digest}.json.zz"
        self._bucket.put(key, data, ZLIB)
        return key


def _restore(data: bytes) -> Approval:
    return Approval.model_validate_json(zlib.decompress(data))
