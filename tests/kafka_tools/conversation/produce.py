"""Appending: every version, every codec, every reason to refuse; then what was kept of it all."""

from collections.abc import Iterable

from protocol.api_keys import ApiKey
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.records.builder import build_batch
from tests.kafka_tools.conversation.batches import DAMAGED, FAR, batch, records
from tests.kafka_tools.conversation.topics import UNKNOWN_ID
from tests.kafka_tools.side import Side, Step

Parts = Iterable[tuple[str, int, bytes | None]]


def produce(
    name: str,
    parts: Parts,
    *,
    version: int = 9,
    acks: int = -1,
    transactional_id: str | None = None,
    answered: bool = True,
) -> Step:
    """Topics by name, or from version 13 on by the ids behind the names."""
    by_topic: dict[str, list[PartitionProduceData]] = {}
    for topic, index, data in parts:
        view = None if data is None else memoryview(data)
        by_topic.setdefault(topic, []).append(PartitionProduceData(index=index, records=view))

    def request(side: Side) -> ProduceRequest:
        return ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=topic, topic_id=side.topic_ids.get(topic, UNKNOWN_ID), partition_data=data
                )
                for topic, data in by_topic.items()
            ],
        )

    return Step(f"produce-{name}", version, request, ApiKey.PRODUCE, reads=False, answered=answered)


def appends() -> Iterable[Step]:
    for version in range(3, 14):
        yield produce(f"v{version}", [("c-plain", 0, batch())], version=version)
        yield produce(f"acks-1-v{version}", [("c-plain", 1, batch(1))], version=version, acks=1)
        yield produce(f"unknown-v{version}", [("c-missing", 0, batch())], version=version)
        yield produce(f"bad-partition-v{version}", [("c-plain", 9, batch())], version=version)
        yield produce(f"bad-acks-v{version}", [("c-plain", 0, batch())], version=version, acks=2)
        wrong = [("c-before", 0, batch(2))]
        yield produce(f"record-errors-v{version}", wrong, version=version)
        for codec, name in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
            data = batch(20, codec=codec)
            yield produce(f"{name}-v{version}", [("c-records", 0, data)], version=version)
    yield produce("acks-0", [("c-other", 0, batch(2))], acks=0, answered=False)
    yield produce("nothing", [])
    yield produce("no-partitions-acks-2", [], acks=2)
    yield produce("negative-partition", [("c-plain", -1, batch())])
    yield produce("bad-topic-name", [("a b", 0, batch()), ("", 0, batch())])
    yield produce("several", [
        ("c-plain", 0, batch()), ("c-plain", 2, batch(1)), ("c-missing", 0, batch()),
        ("c-other", 0, batch(4)), ("c-small", 0, batch(20)), ("c-plain", 44, batch()),
    ])  # fmt: skip
    yield produce("same-partition-twice", [("c-repeated", 0, batch()), ("c-repeated", 0, batch(1))])
    for index, (name, damaged) in enumerate(DAMAGED.items()):
        yield produce(f"damaged-{name}", [("c-bad-batches", index, damaged)])
    yield produce("damaged-and-good", [
        ("c-plain", 0, DAMAGED["bad-crc"]), ("c-plain", 1, batch())])  # fmt: skip
    yield produce("zstd-v3", [("c-plain", 0, batch(codec=4))], version=3)
    yield produce("zstd-v6", [("c-plain", 0, batch(codec=4))], version=6)
    yield produce("zstd-v7", [("c-plain", 0, batch(codec=4))], version=7)


def topic_rules() -> Iterable[Step]:
    """What settings of topics refuse or change."""
    yield produce("too-large", [("c-small", 0, batch(20))])
    yield produce("too-large-gzip", [("c-small", 0, batch(30, size=400, codec=1))])
    yield produce("fits", [("c-small", 0, batch(1))])
    yield produce("compact-good", [("c-compact", 0, batch())])
    for version in (7, 8, 9):
        yield produce(f"compact-no-key-v{version}", [("c-compact", 0, batch(key=None))],
                      version=version)  # fmt: skip
    mixed = bytes(build_batch([*records(2), *records(3, key=None), *records(2)]))
    yield produce("compact-some-keys", [("c-compact", 0, mixed)])
    yield produce("compact-delete-no-key", [("c-both", 0, batch(1, key=None))])
    late = bytes(build_batch([*records(1, key=None), *records(1, time=FAR)]))
    yield produce("compact-no-key-and-late", [("c-compact", 0, late)])
    for version in (3, 9):
        yield produce(f"append-time-v{version}", [("c-append-time", 0, batch())], version=version)
    yield produce("append-time-gzip", [("c-append-time", 0, batch(codec=1))])
    yield produce("append-time-claimed", [("c-append-time", 0, DAMAGED["claims-append-time"])])
    yield produce("append-time-future", [("c-append-time", 0, batch(time=FAR))])
    yield produce("too-old", [("c-before", 0, batch(5))])
    yield produce("no-timestamp-where-old-is-refused", [("c-before", 0, batch(1, time=-1))])
    yield produce("min-insync-all", [("c-min-insync", 0, batch())])
    yield produce("min-insync-leader", [("c-min-insync", 0, batch())], acks=1)
    for codec in range(5):
        yield produce(f"uncompress-{codec}", [("c-uncompressed", 0, batch(10, codec=codec))])
    yield produce("transactional-id", [("c-other", 0, batch())], transactional_id="t")


def producers() -> Iterable[Step]:
    """Sequences of idempotent producers, by ids nobody gave out."""

    def send(name: str, pid: int, epoch: int, sequence: int, count: int = 3) -> Step:
        data = batch(count, producer_id=pid, producer_epoch=epoch, base_sequence=sequence)
        return produce(f"sequence-{name}", [("c-producers", 0, data)])

    yield send("first", 5000, 0, 0)
    yield send("second", 5000, 0, 3)
    yield send("again", 5000, 0, 3)
    yield send("first-again", 5000, 0, 0)
    yield send("again-but-longer", 5000, 0, 3, 5)
    yield send("again-but-shorter", 5000, 0, 3, 2)
    yield send("gap", 5000, 0, 9)
    for sequence in range(6, 30, 3):
        yield send(f"next-{sequence}", 5000, 0, sequence)
    yield send("forgotten-duplicate", 5000, 0, 0)
    yield send("fifth-last", 5000, 0, 15)
    yield send("sixth-last", 5000, 0, 12)
    yield send("unknown-producer-later-sequence", 5001, 0, 7)
    yield send("unknown-producer-continues", 5001, 0, 10)
    yield send("new-epoch-later-sequence", 5000, 1, 5)
    yield send("new-epoch", 5000, 1, 0)
    yield send("old-epoch", 5000, 0, 30)
    yield send("old-epoch-duplicate", 5000, 0, 27)
    yield send("last-sequence", 5002, 0, 2**31 - 2, 1)
    yield send("at-the-wrap", 5002, 0, 2**31 - 1, 1)
    yield send("wrapped", 5002, 0, 0, 1)
    yield send("wrapping-batch", 5003, 0, 2**31 - 2, 4)
    yield send("after-wrapping-batch", 5003, 0, 2, 1)
    yield send("wrapping-batch-again", 5003, 0, 2**31 - 2, 4)
    yield send("epoch-skipped", 5002, 5, 0, 1)
    plain = [("c-producers", 0, batch(2))]
    yield produce("sequence-none", plain)
    topics = {"c-producers": [0, 3], "c-missing": [0], "c-empty": [0], "c-plain": [0]}
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=ids) for name, ids in topics.items()]
    )
    yield Step("describe-producers", 0, lambda _: request, ApiKey.DESCRIBE_PRODUCERS)
    bad = DescribeProducersRequest(topics=[TopicRequest(name="a b", partition_indexes=[0])])
    yield Step("describe-producers-bad-name", 0, lambda _: bad, ApiKey.DESCRIBE_PRODUCERS)
