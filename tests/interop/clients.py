"""Four independent Kafka clients behind one small interface, for tests that try each of them.

kcat and confluent-kafka are librdkafka as a program and as a library; aiokafka and kafka-python are
protocol implementations of their own. Records compare as (key, value, headers).
"""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_SECONDS = 30


class Sent(NamedTuple):
    """One record as given to a client and as got back."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


class Client(NamedTuple):
    """One client library: create a topic, send records in order to partition 0, read them all."""

    name: str
    create: Callable[[str, str], None]
    produce: Callable[[str, str, Sequence[Sent], str], list[int]]
    """(address, topic, records, codec) → the offset of each record, where the client tells."""
    fetch: Callable[[str, str, int], list[Sent]]
    """(address, topic, count) → records from the beginning."""


# confluent-kafka


def confluent_create(address: str, topic: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT_SECONDS)


def confluent_produce(
    address: str, topic: str, records: Sequence[Sent], codec: str, **settings: Any
) -> list[int]:
    from confluent_kafka import Producer

    offsets: list[int] = []

    def delivered(error: Any, message: Any) -> None:
        assert error is None, error
        offsets.append(message.offset())

    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": codec,
            "enable.idempotence": True,
            "message.max.bytes": 1_100_000,
            "linger.ms": 5,
            **settings,
        }
    )
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            partition=0,
            headers=list(record.headers),
            on_delivery=delivered,
        )
        producer.poll(0)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    return offsets


def confluent_fetch(address: str, topic: str, count: int) -> list[Sent]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    got: list[Sent] = []
    while len(got) < count:
        messages = consumer.consume(count - len(got), TIMEOUT_SECONDS)
        assert messages, f"{len(got)} of {count} records came"
        for message in messages:
            assert message.error() is None, message.error()
            headers = tuple((name, value) for name, value in message.headers() or ())
            got.append(Sent(message.key(), message.value(), headers))
    consumer.close()
    return got


# aiokafka


def aiokafka_create(address: str, topic: str) -> None:
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        await admin.create_topics([NewTopic(topic, 1, 1)])
        await admin.close()

    asyncio.run(run())


def aiokafka_produce(address: str, topic: str, records: Sequence[Sent], codec: str) -> list[int]:
    from aiokafka import AIOKafkaProducer

    async def run() -> list[int]:
        producer = AIOKafkaProducer(
            bootstrap_servers=address,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=True,
            max_request_size=1_100_000,
        )
        await producer.start()
        sends = [
            await producer.send(
                topic, record.value, record.key, partition=0, headers=list(record.headers)
            )
            for record in records
        ]
        answers = [await send for send in sends]
        await producer.stop()
        return [answer.offset for answer in answers]

    return asyncio.run(run())


def aiokafka_fetch(address: str, topic: str, count: int) -> list[Sent]:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def run() -> list[Sent]:
        consumer = AIOKafkaConsumer(bootstrap_servers=address)
        await consumer.start()
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        got: list[Sent] = []
        while len(got) < count:
            message = await asyncio.wait_for(consumer.getone(), TIMEOUT_SECONDS)
            got.append(Sent(message.key, message.value, tuple(message.headers)))
        await consumer.stop()
        return got

    return asyncio.run(run())


# kafka-python


def kafka_python_create(address: str, topic: str) -> None:
    from kafka.admin import KafkaAdminClient, NewTopic

    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.close()


def kafka_python_produce(
    address: str, topic: str, records: Sequence[Sent], codec: str
) -> list[int]:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=address,
        compression_type=None if codec == "none" else codec,
        enable_idempotence=True,
        max_request_size=1_100_000,
    )
    sends = [
        producer.send(topic, value=r.value, key=r.key, partition=0, headers=[*r.headers])
        for r in records
    ]
    producer.flush(TIMEOUT_SECONDS)
    offsets = [send.get(TIMEOUT_SECONDS).offset for send in sends]
    producer.close()
    return offsets


def kafka_python_fetch(address: str, topic: str, count: int) -> list[Sent]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=address, consumer_timeout_ms=TIMEOUT_SECONDS * 1000, group_id=None
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    got = []
    for message in consumer:
        got.append(Sent(message.key, message.value, tuple(message.headers)))
        if len(got) == count:
            break
    consumer.close()
    return got


# kcat: keys, values and headers through its own text formats


def kcat(*arguments: str, stdin: bytes = b"") -> bytes:
    """Run kcat; its standard output."""
    done = subprocess.run(
        ["kcat", *arguments], input=stdin, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def kcat_create(address: str, topic: str) -> None:
    """kcat has no admin commands: asking for a topic's metadata creates it."""
    for _ in range(50):
        if b"with 1 partitions" in kcat("-b", address, "-L", "-t", topic):
            return
    raise AssertionError(f"{topic} was not created")


def kcat_produce(address: str, topic: str, records: Sequence[Sent], codec: str) -> list[int]:
    """One process a run of records with equal headers; -Z makes empty values null."""
    for record in records:
        arguments = ["-P", "-b", address, "-t", topic, "-p", "0", "-z", codec, "-Z"]
        arguments += ["-X", "enable.idempotence=true", "-X", "message.max.bytes=1100000"]
        for name, value in record.headers:
            arguments += ["-H", f"{name}={value.decode()}"]
        arguments += ["-K", "\x1f", "-D", "\x1e"]
        kcat(*arguments, stdin=(record.key or b"") + b"\x1f" + (record.value or b""))
    return []


def kcat_fetch(address: str, topic: str, count: int) -> list[Sent]:
    lines = kcat(
        "-C", "-b", address, "-t", topic, "-p", "0", "-o", "0", "-c", str(count), "-J", "-q"
    ).splitlines()
    return [_from_json(json.loads(line)) for line in lines]


def _from_json(item: dict[str, Any]) -> Sent:
    headers = item.get("headers") or []
    pairs = zip(headers[::2], headers[1::2], strict=True)
    return Sent(
        None if item["key"] is None else item["key"].encode(),
        None if item["payload"] is None else item["payload"].encode(),
        tuple((name, value.encode()) for name, value in pairs),
    )


CLIENTS = {
    "confluent": Client("confluent", confluent_create, confluent_produce, confluent_fetch),
    "aiokafka": Client("aiokafka", aiokafka_create, aiokafka_produce, aiokafka_fetch),
    "kafka-python": Client(
        "kafka-python", kafka_python_create, kafka_python_produce, kafka_python_fetch
    ),
    "kcat": Client("kcat", kcat_create, kcat_produce, kcat_fetch),
}


def available(name: str) -> bool:
    """Libraries are locked dependencies; kcat is a program the machine may lack."""
    return name != "kcat" or shutil.which("kcat") is not None
