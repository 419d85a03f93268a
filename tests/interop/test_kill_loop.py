"""Idempotent producers of librdkafka while the broker is killed with -9, again and again.

Every record carries its producer and its number. Whatever was reported as delivered must be read
back exactly once, and in the order in which its producer sent it, partition by partition. What was
sent and never reported may be there or not, but never twice.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic

TOPIC = "endured"
PARTITIONS = 3
PRODUCERS = 3
BETWEEN_KILLS = 100
"""Deliveries that are waited for before the next kill."""
UNANSWERED = 200
"""Records a producer has under way at most: what a kill meets in its hands."""
PATIENCE_S = 60
SMALL_SEGMENTS: dict[str, object] = {"log.segment.bytes": 1 << 20, "log.index.interval.bytes": 512}
SETTINGS: dict[str, dict[str, object]] = {
    "kept by the kernel": {},
    "flushed before the answer": {"log.flush.interval.messages": 1},
    # Each record has a key of its own: segments are rewritten all the time, and nothing may go.
    "compacted": {
        "log.cleanup.policy": "compact",
        "log.cleaner.min.cleanable.ratio": 0,
        "log.cleaner.backoff.ms": 100,
    },
}


class Record(NamedTuple):
    """Which producer sent it, as its how-manyeth."""

    producer: int
    number: int


class Producer:
    """A thread that sends numbered records until it is told to stop, and notes what arrived."""

    def __init__(self, address: str, number: int) -> None:
        self.number = number
        self.sent = 0
        self.delivered: list[Record] = []
        self.errors: list[str] = []
        self._stopping = threading.Event()
        self._address = address
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """All that was sent is answered afterwards."""
        self._stopping.set()
        self._thread.join(2 * PATIENCE_S)
        assert not self._thread.is_alive()
        assert self.errors == []

    def _run(self) -> None:
        from confluent_kafka import Producer as Client

        client = Client(
            {
                "bootstrap.servers": self._address,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "batch.num.messages": 20,
                "queue.buffering.max.messages": UNANSWERED,
                "message.timeout.ms": PATIENCE_S * 1000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "log_level": 0,
            }
        )
        while not self._stopping.is_set():
            record = Record(self.number, self.sent)
            try:
                client.produce(
                    TOPIC,
                    b"%d %d %s" % (*record, b"." * 500),
                    b"%d %d" % record,
                    partition=self.sent % PARTITIONS,
                    on_delivery=lambda error, _message, record=record: self._told(error, record),
                )
                self.sent += 1
            except BufferError:
                client.poll(0.01)
            client.poll(0)
        if client.flush(PATIENCE_S):
            self.errors.append(f"producer {self.number} has unanswered records")

    def _told(self, error: Any, record: Record) -> None:
        if error is None:
            self.delivered.append(record)
        else:
            self.errors.append(f"{record}: {error}")


def stored(address: str) -> dict[int, list[Record]]:
    """Every record of every partition, in its order."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer(settings)
    places = [TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)]
    ends = {
        place.partition: consumer.get_watermark_offsets(place, PATIENCE_S)[1] for place in places
    }
    consumer.assign(places)
    found: dict[int, list[Record]] = defaultdict(list)
    waiting = {partition for partition, end in ends.items() if end}
    while waiting:
        messages = consumer.consume(5000, 0.2)
        for message in messages:
            assert message.error() is None, message.error()
            producer, number, _ = message.value().split(b" ", 2)
            found[message.partition()].append(Record(int(producer), int(number)))
            if message.offset() + 1 >= ends[message.partition()]:
                waiting.discard(message.partition())
    consumer.close()
    return found


def check(address: str, producers: list[Producer]) -> None:
    """Nothing delivered is missing, nothing is there twice or out of order."""
    by_partition = stored(address)
    for partition, records in by_partition.items():
        for producer in producers:
            own = [record.number for record in records if record.producer == producer.number]
            assert own == sorted(set(own)), f"partition {partition}, producer {producer.number}"
    everything = {record for records in by_partition.values() for record in records}
    for producer in producers:
        assert producer.delivered, "the producer never got a word in"
        missing = set(producer.delivered) - everything
        assert not missing, f"{len(missing)} delivered records are gone, such as {min(missing)}"


def endure(broker: Broker, kills: int) -> None:
    """Produce all the while; kill and restart so often; then read everything back."""
    create_topic(broker.bootstrap_servers, TOPIC, partitions=PARTITIONS)
    producers = [Producer(broker.bootstrap_servers, number) for number in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    try:
        for _ in range(kills):
            wait_for_more(producers)
            broker.kill()
            broker.start()
        wait_for_more(producers)
    finally:
        for producer in producers:
            producer.stop()
    check(broker.bootstrap_servers, producers)
    broker.restart()
    check(broker.bootstrap_servers, producers)


def wait_for_more(producers: list[Producer]) -> None:
    """Each producer got some records delivered since the last kill."""
    wanted = [len(producer.delivered) + BETWEEN_KILLS for producer in producers]
    deadline = time.monotonic() + PATIENCE_S
    while any(
        len(producer.delivered) < count for producer, count in zip(producers, wanted, strict=True)
    ):
        assert time.monotonic() < deadline, "deliveries ceased"
        assert not [error for producer in producers for error in producer.errors]
        time.sleep(0.005)


@pytest.fixture(params=SETTINGS)
def broker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Broker]:
    settings = SMALL_SEGMENTS | SETTINGS[request.param]
    running = Broker(tmp_path / "data", settings, metrics=False).start()
    yield running
    running.close()


def test_a_broker_killed_again_and_again_loses_and_repeats_nothing(broker: Broker) -> None:
    endure(broker, kills=2)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_broker_killed_fifty_times_loses_and_repeats_nothing(broker: Broker) -> None:
    endure(broker, kills=50)
