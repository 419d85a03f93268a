"""Markers that end a transaction: control batches of one record.

```text
key    version i16 = 0, type i16 (0 abort, 1 commit; 2 to 6 are KRaft's)
value  version i16 = 0, coordinatorEpoch i32
```
Readers of later versions take what they know from the front of both. A marker takes an offset,
carries the producer's id and epoch and no sequence. Source: KIP-98, `ControlRecordType.java`,
`EndTransactionMarker.java`.
"""

import enum
from struct import Struct
from typing import NamedTuple

from protocol.records.batch import RecordBatch
from protocol.records.builder import build_batch
from protocol.records.errors import MalformedRecords
from protocol.records.record import Record

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_VERSION = 0


class ControlType(enum.IntEnum):
    """What a control record says."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    """The end of a producer's transaction, as its coordinator decided in an epoch."""

    commit: bool
    coordinator_epoch: int


def build_end_transaction_marker(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """The control batch that ends the producer's transaction at a time (ms)."""
    control = ControlType.COMMIT if marker.commit else ControlType.ABORT
    record = Record(
        0,
        timestamp,
        _KEY.pack(_VERSION, control),
        _VALUE.pack(_VERSION, marker.coordinator_epoch),
        [],
    )
    return build_batch(
        [record],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def control_type(key: bytes | None) -> int:
    """The type in a control record's key, known or not; raises MalformedRecords."""
    if key is None or len(key) < _KEY.size:
        raise MalformedRecords("a control record has no type in its key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise MalformedRecords(f"control record of version {version}")
    return int(number)


def parse_end_transaction_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """What a control batch says about a transaction; None if it is about something else.

    Raises MalformedRecords for a control batch that Kafka could not have written.
    """
    records = batch.records()
    if not records:
        return None
    number = control_type(records[0].key)
    if number not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    value = records[0].value
    if value is None or len(value) < _VALUE.size:
        raise MalformedRecords("an end-transaction marker has no coordinator epoch")
    version, coordinator_epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise MalformedRecords(f"end-transaction marker of version {version}")
    return EndTransactionMarker(number == ControlType.COMMIT, coordinator_epoch)
