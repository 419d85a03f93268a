"""What happens to a directory: with Kafka everything it can do, with Tidelog what comes after."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)

from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreateTopicsResponse
from protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse
from protocol.messages.produce import TopicProduceData as TopicData
from protocol.records.builder import build_batch
from protocol.records.record import Record
from tests.kafka_tools import workload
from tests.kafka_tools.conversation.topics import create, wanted
from tests.kafka_tools.seen import SeenProducer
from tests.kafka_tools.side import Side
from tests.kafka_tools.workload import PRODUCE_VERSION

OPEN_TRANSACTION_MS = 900_000
KEYS = 5
ROUNDS = 4
CLEANED = "x-cleaned"
SEQUENCES = "x-sequences"
GROUP = "x-group"
WAIT_SECONDS = 30

TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "x-transactions": (2, {}),
    "x-idempotent": (2, {"compression.type": "lz4"}),
    SEQUENCES: (1, {"index.interval.bytes": "100"}),
    CLEANED: (
        1,
        {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.ms": "100",
            "delete.retention.ms": "86400000",
        },
    ),
    "x-settings": (
        3,
        {
            "retention.ms": "123456789000",
            "retention.bytes": "987654321",
            "max.message.bytes": "2000000",
            "min.compaction.lag.ms": "5",
            "cleanup.policy": "compact,delete",
            "message.timestamp.type": "LogAppendTime",
        },
    ),
}


def client(port: int, **settings: Any) -> dict[str, Any]:
    """librdkafka's settings, `_` in their names for `.`."""
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0, **named}


def live_with_kafka(port: int, data_dirs: Sequence[Path]) -> list[Producer]:
    """Fill a new broker with every kind of data; the producers whose transactions are open."""
    side = Side("kafka", "127.0.0.1", port)
    try:
        wait_until(lambda: _would_create(side), "no controller that knows of the broker")
        for appends in (*workload.topics(), workload.APPEND_TIME):
            workload.write(side, appends)
    finally:
        side.talker.close()
    admin = AdminClient(client(port))
    new = [
        NewTopic(name, num_partitions=count, replication_factor=1, config=configs)
        for name, (count, configs) in TOPICS.items()
    ]
    for made in admin.create_topics([*new, NewTopic("x-deleted", 4, 1)]).values():
        made.result(WAIT_SECONDS)
    # Also has Kafka write down where logs start, in each directory: a kill would take that back.
    for deleted in admin.delete_topics(["x-deleted"]).values():
        deleted.result(WAIT_SECONDS)
    begin_sequences(port)
    produce_idempotently(port, b"kafka")
    be_cleaned(port, data_dirs, b"kafka")
    _commit_a_group(port)
    return [_transactions(port)]


def _would_create(side: Side) -> bool:
    step = create("ready", wanted("x-would-be"), validate_only=True)
    request = step.request(side)
    assert not isinstance(request, bytes)
    answer = side.talker.ask(request, step.version)
    return isinstance(answer, CreateTopicsResponse) and answer.topics[0].error_code == 0


def produce_idempotently(port: int, mark: bytes) -> None:
    """Two partitions, several batches, headers, no values and no keys."""
    producer = Producer(client(port, enable_idempotence=True, linger_ms=0))
    for number in range(12):
        producer.produce(
            "x-idempotent",
            key=None if number % 4 == 3 else b"%s-%d" % (mark, number),
            value=None if number % 5 == 4 else mark * number,
            partition=number % 2,
            headers=[("by", mark), ("none", None), ("by", b"\0\xff")],
        )
        if number % 3 == 2:
            producer.flush(WAIT_SECONDS)
    assert producer.flush(WAIT_SECONDS) == 0
    producer = Producer(client(port, enable_idempotence=True))
    for index in range(3):
        producer.produce("x-settings", mark, partition=index)
    assert producer.flush(WAIT_SECONDS) == 0


def be_cleaned(port: int, data_dirs: Sequence[Path], mark: bytes) -> None:
    """Write the same keys over and over and wait until the log cleaner took all but the end.

    Each round goes into a segment of its own; one key is deleted.
    """
    before = first_dirty_offset(data_dirs)
    producer = Producer(client(port, linger_ms=0))
    for turn in range(ROUNDS):
        for key in range(KEYS):
            value = None if (turn, key) == (2, 0) else b"%s %d" % (mark, turn)
            producer.produce(CLEANED, value, b"key-%d" % key, headers=[("turn", b"%d" % turn)])
        assert producer.flush(WAIT_SECONDS) == 0
        time.sleep(0.12)
    producer.produce(CLEANED, b"last", b"key-last")
    assert producer.flush(WAIT_SECONDS) == 0
    wait_until(
        lambda: first_dirty_offset(data_dirs) >= before + ROUNDS * KEYS, "the cleaner never came"
    )


def first_dirty_offset(data_dirs: Sequence[Path]) -> int:
    """How far the cleaner says it got."""
    files = [folder / "cleaner-offset-checkpoint" for folder in data_dirs]
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()[2:]]
    offsets = {(topic, number): int(offset) for topic, number, offset in map(str.split, lines)}
    return offsets.get((CLEANED, "0"), 0)


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Return when it is so; AssertionError if it never is."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def _commit_a_group(port: int) -> None:
    consumer = Consumer(client(port, group_id=GROUP, enable_auto_commit=False))
    place = TopicPartition("x-idempotent", 1, 4)
    wait_until(lambda: _committed(consumer, place), "no group coordinator")
    consumer.close()


def _committed(consumer: Consumer, place: TopicPartition) -> bool:
    try:
        consumer.commit(offsets=[place], asynchronous=False)
    except KafkaException:
        return False
    return True


def committed_offset(port: int) -> int:
    """What the group committed."""
    consumer = Consumer(client(port, group_id=GROUP, enable_auto_commit=False))
    (place,) = consumer.committed([TopicPartition("x-idempotent", 1)], timeout=WAIT_SECONDS)
    consumer.close()
    return int(place.offset)


def transactional(port: int, name: str) -> Producer:
    """A transactional producer at its start; what it had open before is aborted."""
    producer = Producer(
        client(port, transactional_id=name, transaction_timeout_ms=OPEN_TRANSACTION_MS)
    )
    producer.init_transactions(WAIT_SECONDS)
    return producer


def _transactions(port: int) -> Producer:
    """One committed, one aborted, plain records between, one left open."""
    plain = Producer(client(port, linger_ms=0))
    producer = transactional(port, "t-both")
    for number in range(6):
        producer.begin_transaction()
        for index in range(2):
            for count in range(1 + number):
                producer.produce("x-transactions", b"%d.%d" % (number, count), partition=index)
        producer.flush(WAIT_SECONDS)
        plain.produce("x-transactions", b"plain", partition=number % 2)
        plain.flush(WAIT_SECONDS)
        if number % 3 == 1:
            producer.abort_transaction(WAIT_SECONDS)
        else:
            producer.commit_transaction(WAIT_SECONDS)
    left = transactional(port, "t-open")
    left.begin_transaction()
    left.produce("x-transactions", b"open", partition=0)
    left.flush(WAIT_SECONDS)
    plain.produce("x-transactions", b"after the open one", partition=0)
    assert plain.flush(WAIT_SECONDS) == 0
    return left


def begin_sequences(port: int) -> None:
    """Producers whose ids, epochs and sequences are given by hand."""
    side = Side("kafka", "127.0.0.1", port)
    try:
        for producer_id, codec in ((7001, 0), (7002, 2), (7003, 4)):
            for sequence in range(0, 6, 2):
                batch = _sequenced(producer_id, 3, sequence, codec)
                assert _append(side, batch) == ErrorCode.NONE
    finally:
        side.talker.close()


def go_on(port: int, producers: Iterable[SeenProducer]) -> None:
    """Append as the producers of `begin_sequences`, which another broker knows.

    The next sequence is taken, the same again is known to be a duplicate, one too far is refused.
    """
    side = Side("tidelog", "127.0.0.1", port)
    try:
        for one in producers:
            following = _sequenced(one.producer_id, one.epoch, one.last_sequence + 1)
            assert _append(side, following) == ErrorCode.NONE
            assert _append(side, following) == ErrorCode.NONE
            too_far = _sequenced(one.producer_id, one.epoch, one.last_sequence + 9)
            assert _append(side, too_far) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    finally:
        side.talker.close()


def _sequenced(producer_id: int, epoch: int, sequence: int, codec: int = 0) -> bytes:
    """Two records of now: a producer of long ago would be forgotten with the next start."""
    now_ms = int(time.time() * 1000)
    records = [Record(index, now_ms, b"key", b"%d" % sequence, []) for index in range(2)]
    return bytes(
        build_batch(
            records,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
    )


def _append(side: Side, batch: bytes) -> ErrorCode:
    data = PartitionProduceData(index=0, records=memoryview(batch))
    topic = TopicData(name=SEQUENCES, partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    while code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
        # Kafka tells clients of a leader a moment before it leads.
        answer = side.ask(request, PRODUCE_VERSION)
        assert isinstance(answer, ProduceResponse)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
    return code


def change_topics(port: int) -> None:
    """A topic made, one deleted, settings changed."""
    admin = AdminClient(client(port))
    made = NewTopic(
        "y-made-here", num_partitions=3, replication_factor=1, config={"retention.ms": "7200000"}
    )
    for future in admin.create_topics([made]).values():
        future.result(WAIT_SECONDS)
    for future in admin.delete_topics(["w-no-time"]).values():
        future.result(WAIT_SECONDS)
    entry = ConfigEntry("max.message.bytes", "77777", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "w-plain", incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(WAIT_SECONDS)
    producer = Producer(client(port, enable_idempotence=True))
    for number in range(9):
        producer.produce("y-made-here", b"%d" % number, b"key", partition=number % 3)
    assert producer.flush(WAIT_SECONDS) == 0
