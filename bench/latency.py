"""End to end latency at a fixed rate; producer and consumer are real clients, a process each.

The value of every record is the monotonic clock at the moment it was given to the producer; that
clock is one for all processes of a machine.
"""

import multiprocessing
import struct
import time
from multiprocessing.connection import Connection as Pipe

STAMP = struct.Struct(">q92x")
"""Eight bytes of clock and padding: a record of 100 bytes."""
WARM_UP_SECONDS = 2


def measure(address: str, topic: str, per_second: int, seconds: float) -> tuple[float, float]:
    """(median, 99th percentile) in milliseconds after the warm-up."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    count = int(per_second * (seconds + WARM_UP_SECONDS))
    consumer = context.Process(target=consume, args=(address, topic, count, theirs))
    consumer.start()
    assert ours.recv() == "assigned"
    producer = context.Process(target=produce, args=(address, topic, per_second, count))
    producer.start()
    latencies: list[float] = ours.recv()
    producer.join()
    consumer.join()
    settled = sorted(latencies[per_second * WARM_UP_SECONDS :])
    return settled[len(settled) // 2], settled[int(len(settled) * 0.99)]


def produce(address: str, topic: str, per_second: int, count: int) -> None:
    """Send the records at an even pace: every millisecond its share, then sleep to the next."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "acks": "1"})
    begin = time.monotonic()
    sent = 0
    while sent < count:
        due = min(count, int((time.monotonic() - begin) * per_second) + 1)
        for _ in range(due - sent):
            producer.produce(topic, STAMP.pack(time.monotonic_ns()), partition=0)
        sent = due
        producer.poll(0)
        time.sleep(0.001)
    producer.flush()


def consume(address: str, topic: str, count: int, pipe: Pipe) -> None:
    """Read from the end and send every latency back."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 1,
        }
    )
    consumer.assign(
        [TopicPartition(topic, 0, consumer.get_watermark_offsets(TopicPartition(topic, 0))[1])]
    )
    consumer.poll(0.5)
    pipe.send("assigned")
    latencies: list[float] = []
    while len(latencies) < count:
        message = consumer.poll(1.0)  # consume() would wait for its list to fill
        if message is not None:
            assert message.error() is None, message.error()
            latencies.append((time.monotonic_ns() - STAMP.unpack(message.value())[0]) / 1e6)
    consumer.close()
    pipe.send(latencies)
