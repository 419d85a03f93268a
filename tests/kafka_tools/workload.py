"""Appends that make every kind of file: segments rolled for each reason, indexes, snapshots.

All times are given by the producer, so that two brokers that take them write the same bytes.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse
from protocol.messages.produce import TopicProduceData as TopicData
from protocol.records.builder import build_batch
from protocol.records.record import Record
from tests.kafka_tools.conversation.topics import create, wanted
from tests.kafka_tools.side import Side

TIME = 1_700_000_000_000
MINUTE = 60_000
PRODUCE_VERSION = 9
NEVER = str(2**62)


class Appends(NamedTuple):
    """One topic of one partition: its settings, and the batches appended to it in order."""

    name: str
    configs: dict[str, str]
    batches: list[bytes]
    deleted_before: int = 0
    """Records below this offset are deleted at the end."""


def _batch(
    dice: random.Random, count: int, time: int = TIME, size: int = 60, **fields: Any
) -> bytes:
    step = fields.pop("step", 3)
    records = [
        Record(
            index,
            time + index * step,
            None if index % 5 == 4 else b"key-%d" % dice.randrange(10),
            None if index % 7 == 6 else dice.randbytes(dice.randrange(size)),
            [("trace", dice.randbytes(4)), ("none", None)] if index % 3 == 2 else [],
        )
        for index in range(count)
    ]
    return bytes(build_batch(records, **fields))


def _idempotent(dice: random.Random, count: int) -> Iterator[bytes]:
    sequences = {7001: 0, 7002: 0, 7003: 0}
    for turn in range(count):
        producer = dice.choice(list(sequences))
        size = dice.randrange(1, 6)
        yield _batch(
            dice,
            size,
            TIME + turn * 10,
            producer_id=producer,
            producer_epoch=producer % 3,
            base_sequence=sequences[producer],
            codec=turn % 5,
        )
        sequences[producer] += size


def topics() -> list[Appends]:
    dice = random.Random(20240)
    times = [5, 1, 9, 3, 12, 12, 2, 20, 7, 20, 19]
    keyed = [Record(i, TIME + i, b"k%d" % (i % 4), b"value", []) for i in range(9)]
    made = [
        Appends("w-empty", {}, []),
        Appends("w-plain", {}, [_batch(dice, 1 + i % 9, TIME + i) for i in range(40)]),
        Appends(
            "w-index",
            {"index.interval.bytes": "512"},
            [_batch(dice, 4, TIME + i * 100) for i in range(80)],
        ),
        Appends(
            "w-every-batch",
            {"index.interval.bytes": "0"},
            [_batch(dice, 2, TIME + i) for i in range(30)],
        ),
        Appends(
            "w-rolled-by-index",
            {"index.interval.bytes": "0", "segment.index.bytes": "96"},
            list(_idempotent(dice, 60)),
        ),
        Appends(
            "w-rolled-by-size",
            {"segment.bytes": "1048576"},
            [_batch(dice, 3, TIME + i, 60_000) for i in range(40)],
        ),
        Appends(
            "w-rolled-by-time",
            {"segment.ms": str(10 * MINUTE)},
            [_batch(dice, 2, TIME + i * 4 * MINUTE) for i in range(14)],
        ),
        Appends(
            "w-rolled-all",
            {"segment.ms": str(10 * MINUTE), "index.interval.bytes": "100"},
            [
                _batch(
                    dice,
                    3,
                    TIME + i * 4 * MINUTE,
                    producer_id=9,
                    producer_epoch=0,
                    base_sequence=3 * i,
                )
                for i in range(14)
            ],
        ),
        Appends(
            "w-out-of-order-time",
            {"index.interval.bytes": "100"},
            [_batch(dice, 1, TIME + 1000 * second) for second in times],
        ),
        Appends(
            "w-time-backwards",
            {"index.interval.bytes": "100"},
            [_batch(dice, 5, TIME - i, step=-2) for i in range(20)],
        ),
        Appends("w-no-time", {}, [_batch(dice, 2, -1, step=0) for _ in range(5)]),
        Appends("w-idempotent", {}, list(_idempotent(dice, 40))),
        Appends(
            "w-compact",
            {"cleanup.policy": "compact", "min.compaction.lag.ms": NEVER},
            [bytes(build_batch(keyed)) for _ in range(6)],
        ),
        Appends(
            "w-uncompressed",
            {"compression.type": "uncompressed"},
            [_batch(dice, 12, TIME + i, codec=i % 5) for i in range(10)],
        ),
        Appends("w-cut", {}, [_batch(dice, 3, TIME + i) for i in range(9)], deleted_before=10),
        Appends("w-all-cut", {}, [_batch(dice, 3, TIME + i) for i in range(3)], deleted_before=9),
    ]
    for codec, name in enumerate(("gzip", "snappy", "lz4", "zstd"), 1):
        batches = [_batch(dice, 10, TIME + i, 300, codec=codec) for i in range(25)]
        made.append(Appends(f"w-{name}", {"index.interval.bytes": "1000"}, batches))
    return made


APPEND_TIME = Appends(
    "t-append-time",
    {"message.timestamp.type": "LogAppendTime", "index.interval.bytes": "200"},
    [bytes(_batch(random.Random(i), 5, codec=i % 5)) for i in range(20)],
)
"""Stamped by the broker: readable by Kafka's tools, never the same bytes twice."""


def write(side: Side, appends: Appends) -> None:
    """Create the topic and append its batches, each acknowledged before the next."""
    step = create(appends.name, wanted(appends.name, configs=appends.configs))
    request = step.request(side)
    assert not isinstance(request, bytes)
    side.ask(request, step.version)
    for batch in appends.batches:
        data = PartitionProduceData(index=0, records=memoryview(batch))
        produce = ProduceRequest(
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicData(name=appends.name, partition_data=[data])],
        )
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        while code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            # Kafka tells clients of a leader a moment before it leads.
            answer = side.ask(produce, PRODUCE_VERSION)
            assert isinstance(answer, ProduceResponse)
            code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        assert code == ErrorCode.NONE, f"{side.name} {appends.name}: {code!r}"
    if appends.deleted_before:
        deletion = DeleteRecordsPartition(partition_index=0, offset=appends.deleted_before)
        topic = DeleteRecordsTopic(name=appends.name, partitions=[deletion])
        side.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=30_000), 2)
