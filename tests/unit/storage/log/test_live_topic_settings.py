"""Every topic key, set while the log is open: what the log does otherwise from then on.

`EFFECTS` has a probe for each key there is: it is called on an open log before the change and after
it, and must answer otherwise. A key that no log obeys is named in `ELSEWHERE` with who does.
"""

from collections.abc import Callable

import pytest

from config.broker_config import BrokerConfig
from config.definition import KEPT, REFUSED
from config.topic_config import TOPIC_KEYS, log_config
from protocol.errors import KafkaError
from protocol.records.batch import parse_batch
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.log.results import ReadBound
from storage.log_jobs import LogJobs
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LogHarness, every

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
Probe = Callable[[LogHarness], object]


def send(harness: LogHarness, data: bytearray) -> object:
    """The outcome of an append: jobs and stamp, or how it was refused."""
    try:
        result = harness.log.append_as_leader(memoryview(data), 0, harness.now_ms)
    except KafkaError as error:
        return error.code
    return [job.name for job in result.jobs], result.log_append_time_ms


def a_record(*, key: bytes | None = b"k", size: int = 5, age_ms: int = 0) -> Probe:
    """Sends one record."""

    def probe(harness: LogHarness) -> object:
        record = Record(0, harness.now_ms - age_ms, key, b"v" * size, [])
        return send(harness, build_batch([record]))

    return probe


def stored_size(harness: LogHarness) -> object:
    """Codec and bytes of a compressible batch as it is stored."""
    data = b" ".join(b"%d" % number for number in range(4000))
    harness.append([data])
    log = harness.log
    result = log.read(log.log_end_offset - 1, 1 << 20, ReadBound.LOG_END, True)
    assert result.slice is not None
    batch = parse_batch(result.slice.read())
    result.slice.release()
    return batch.codec, batch.size


def deletion(harness: LogHarness) -> object:
    """How many segments retention drops of a log of three, a day old, and when their files go."""
    for _ in range(2):
        harness.append([b"x" * 100])
        harness.run(harness.log.roll(harness.now_ms))
    harness.log.update_high_watermark(harness.log.log_end_offset)
    harness.now_ms += DAY_MS
    deleted, jobs = harness.log.delete_old_segments(harness.now_ms)
    delays = [job.delay_ms for job in jobs]
    harness.run(jobs)
    return len(deleted), delays


def rolls_after(age_ms: int) -> Probe:
    """Whether a record so much later than the first one of its segment begins a new one."""
    send_one = a_record()

    def probe(harness: LogHarness) -> object:
        harness.run(harness.log.roll(harness.now_ms))
        send_one(harness)
        segments = harness.log.segment_count
        harness.now_ms += age_ms
        send_one(harness)
        return harness.log.segment_count - segments

    return probe


def segments_of(size: int) -> Probe:
    """How many segments so many bytes fill."""

    def probe(harness: LogHarness) -> object:
        harness.run(harness.log.roll(harness.now_ms))
        before = harness.log.segment_count
        for _ in range(4):
            harness.append([b"x" * (size // 4)])
        return harness.log.segment_count - before

    return probe


def next_segment(harness: LogHarness) -> object:
    """Index entries and preallocated bytes of a segment begun now, after 20 batches of 1 KB."""
    harness.run(harness.log.roll(harness.now_ms))
    active = harness.log.segments.active
    reserved = harness.disk.file_size(active.path(".log"))
    for _ in range(20):
        harness.append([b"x" * 1000])
    return active.offset_index.count, harness.log.segments.active is active, reserved


def flushes_by_time(harness: LogHarness) -> object:
    """Whether the scheduler finds the log due, an hour after its last flush."""
    harness.append([b"x"])
    harness.now_ms += HOUR_MS
    works = LogJobs(harness.manager, every()).plan_flushes(harness.now_ms)
    for work in works:
        work.work()
        work.commit()
    return len(works)


EFFECTS: dict[str, tuple[str, Probe]] = {
    "cleanup.policy": ("compact", a_record(key=None)),
    "compression.type": ("gzip", stored_size),
    "compression.gzip.level": ("1", stored_size),
    "compression.lz4.level": ("1", stored_size),
    "compression.zstd.level": ("-50", stored_size),
    "file.delete.delay.ms": ("5", deletion),
    "flush.messages": ("1", a_record()),
    "flush.ms": ("1000", flushes_by_time),
    "index.interval.bytes": ("1", next_segment),
    "internal.segment.bytes": ("4000", segments_of(8000)),
    "max.compaction.lag.ms": ("60000", rolls_after(HOUR_MS)),
    "max.message.bytes": ("100", a_record(size=200)),
    "message.timestamp.after.max.ms": ("1000", a_record(age_ms=-HOUR_MS)),
    "message.timestamp.before.max.ms": ("1000", a_record(age_ms=HOUR_MS)),
    "message.timestamp.type": ("LogAppendTime", a_record()),
    "preallocate": ("true", next_segment),
    "retention.bytes": ("1", deletion),
    "retention.ms": (str(HOUR_MS), deletion),
    "segment.bytes": (str(1 << 20), segments_of(3 << 20)),
    "segment.index.bytes": ("16", next_segment),
    "segment.jitter.ms": (str(7 * DAY_MS), rolls_after(DAY_MS)),
    "segment.ms": ("60000", rolls_after(HOUR_MS)),
}
GIVEN: dict[str, dict[str, str]] = {
    "compression.gzip.level": {"compression.type": "gzip"},
    "compression.lz4.level": {"compression.type": "lz4"},
    "compression.zstd.level": {"compression.type": "zstd"},
    "file.delete.delay.ms": {"retention.ms": "1"},
    "index.interval.bytes": {"index.interval.bytes": "1000000"},
    "max.compaction.lag.ms": {"cleanup.policy": "compact,delete"},
    "preallocate": {"segment.bytes": str(1 << 20)},
    "segment.index.bytes": {"index.interval.bytes": "1"},
}
"""What has to be set for a key to matter."""
ELSEWHERE: dict[str, str] = {
    "delete.retention.ms": "read by each cleaning",
    "min.cleanable.dirty.ratio": "read by each choice of what to clean",
    "min.compaction.lag.ms": "read by each choice of what to clean",
    "min.insync.replicas": "read by the partition at each append with acks=all",
    "unclean.leader.election.enable": "read by the controller at each election",
}


def open_log(settings: dict[str, str]) -> LogHarness:
    config = log_config(BrokerConfig(), settings)
    harness = LogHarness(FaultDisk(), config)
    log = harness.log
    log.environment = log.environment._replace(random_below=lambda most: most - 1)
    return harness


def test_every_topic_key_has_its_probe_or_its_reader() -> None:
    untold = {name for name, key in TOPIC_KEYS.items() if key.status in (KEPT, REFUSED)}
    assert set(EFFECTS) | set(ELSEWHERE) | untold == set(TOPIC_KEYS)
    assert not set(EFFECTS) & (set(ELSEWHERE) | untold)


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_an_open_log_obeys_a_key_from_the_next_operation_on(name: str) -> None:
    text, probe = EFFECTS[name]
    given = GIVEN.get(name, {})
    harness = open_log(given)
    before = probe(harness)
    harness.log.update_config(log_config(BrokerConfig(), {**given, name: text}))
    after = probe(harness)
    assert after != before, before
    harness.log.update_config(log_config(BrokerConfig(), given))
    again = probe(harness)
    assert again == before
