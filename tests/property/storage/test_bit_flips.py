"""A flipped bit in any byte of any file: who finds it, and that readers never see it as truth.

Each byte of a small directory is damaged alone, with all files closed cleanly. Three things may
notice: `verify` (the audit, deep), a start after an unclean stop (which reads the log again and
makes the rest anew), and a reader after a clean start. What no audit finds is listed here byte by
byte, as docs/disk_format.md lists it.
"""

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.topic_config import LogConfig
from protocol.errors import KafkaError
from protocol.records.batch import iterate_batches
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from storage.audit import Question, audit_log_dirs
from storage.checkpoints import OffsetCheckpoint
from storage.errors import CorruptFileError, StorageError
from storage.invariants.finding import Finding, Severity
from storage.log.results import Origin, ReadBound
from storage.log_dirs import MetaProperties, write_meta_properties
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import (
    LOG_DIR,
    PARTITION,
    START_MS,
    TOPIC_ID,
    LogHarness,
    records,
)

CONFIG = LogConfig(segment_bytes=900, index_interval_bytes=150)
PARTITION_DIR = f"{LOG_DIR}/orders-0"
DIRECTORY_ID = "kzEWHiXdTWWGvVF1d5aJDw"
ABORTED = {24, 25}
MARK = f"{LOG_DIR}/.kafka_cleanshutdown"


Pairs = list[tuple[int, bytes | None]]


def image() -> FaultDisk:
    """Three segments, two leader epochs, a producer, an aborted transaction; closed cleanly."""
    disk = FaultDisk()
    harness = LogHarness(disk, CONFIG)
    identity = MetaProperties(1, 3, "Mq01w22PRYSZN3vS7nX1CA", DIRECTORY_ID)
    write_meta_properties(disk, LOG_DIR, identity, START_MS)
    log = harness.log
    for number in range(12):
        harness.now_ms += 1000
        harness.append([b"value-%d" % number, b"second"], epoch=0 if number < 5 else 2)
    producer = {"producer_id": 7, "producer_epoch": 0}
    for sequence in range(2):
        data = build_batch(
            records([b"aborted"], harness.now_ms),
            is_transactional=True,
            base_sequence=sequence,
            **producer,  # type: ignore[arg-type]
        )
        log.append_as_leader(memoryview(data), 2, harness.now_ms)
    marker = build_end_transaction_marker(
        EndTransactionMarker(False, 1),
        timestamp=harness.now_ms,
        **producer,
    )
    log.append_as_leader(memoryview(marker), 2, harness.now_ms, origin=Origin.COORDINATOR)
    for number in range(3):
        harness.now_ms += 1000
        harness.append([b"last-%d" % number], epoch=2)
    log.update_high_watermark(log.log_end_offset)
    harness.flush()
    harness.checkpoint()
    harness.close()
    OffsetCheckpoint(disk, LOG_DIR, "cleaner-offset-checkpoint").write({PARTITION: 4})
    OffsetCheckpoint(disk, LOG_DIR, "log-start-offset-checkpoint").write({PARTITION: 0})
    disk.sync_all()
    return disk


@cache
def files() -> dict[str, bytes]:
    """Every file of the image by its path."""
    disk = image()
    found = {}
    for folder in (LOG_DIR, PARTITION_DIR):
        for name in disk.listdir(folder):
            path = f"{folder}/{name}"
            if not disk.isdir(path) and name != ".lock":
                found[path] = disk.read_file(path)
    return found


def damaged(path: str, position: int, bit: int) -> FaultDisk:
    """The image with one bit of one byte flipped."""
    disk = FaultDisk()
    disk.makedirs(PARTITION_DIR)
    for name, content in files().items():
        if name == path:
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            content = bytes(flipped)
        disk.write_file(name, content)
    return disk


def verify(disk: FaultDisk) -> list[Finding]:
    """What `tidelog log verify --deep` says is wrong."""
    question = Question(deep=True, topic_ids={"orders": TOPIC_ID}, compacted={"orders": False})
    found = audit_log_dirs(disk, [LOG_DIR], question)
    return [finding for finding in found if finding.severity >= Severity.WARNING]


# What the audit covers.


def uncovered(path: str, position: int, bit: int) -> str | None:
    """Why nobody finds this flip; None where the audit must."""
    name = path.rpartition("/")[2]
    content = files()[path]
    if name.endswith(".index"):
        return "another batch ends there: found all the same" if position % 8 < 4 else None
    if name.endswith(".timeindex"):
        return "another record of the batch: found all the same" if position % 12 == 11 else None
    if name == ".kafka_cleanshutdown":
        return "a digit of the broker epoch" if chr(content[position]).isdigit() else None
    if name == "meta.properties":
        return _uncovered_property(content, position, bit)
    if name.endswith("checkpoint"):
        return _uncovered_line(name, content, position, bit)
    return None


def _uncovered_property(content: bytes, position: int, bit: int) -> str | None:
    line = content[: position + 1].count(b"\n") - (content[position] == 10)
    if line < 2 and (content[position] != 10 or content[position] ^ (1 << bit) == 11):
        return "a comment"
    if content[position] == 10 or line < 2:
        return "a line break that becomes another, or joins a comment"
    key = content.split(b"\n")[line].partition(b"=")[0]
    return {
        b"node.id": "the number of the node: a start compares it with its settings",
        b"cluster.id": "the id of the cluster: compared with the metadata, and between directories",
        b"directory.id": "the id of the directory",
    }.get(key)


def _uncovered_line(name: str, content: bytes, position: int, bit: int) -> str | None:
    before, after = chr(content[position]), chr(content[position] ^ (1 << bit))
    if before == "\n":
        return "a line break that becomes another, or the last one"
    line = content[:position].count(b"\n")
    if name == "cleaner-offset-checkpoint" and line >= 2:
        return "an entry that no longer speaks of this log: it is cleaned from its start"
    exact = name == "recovery-point-offset-checkpoint"
    if line >= 2 and before.isdigit() and not exact and (after.isdigit() or after == " "):
        return "an offset elsewhere within the log"
    return None


def flips(
    kind: str = "", bits: tuple[int, ...] = tuple(range(8))
) -> Iterator[tuple[str, int, int]]:
    """(path, position, bit) of every byte of the files whose names end so."""
    for path, content in files().items():
        if path.endswith(kind):
            for position in range(len(content)):
                for bit in bits:
                    yield path, position, bit


def missed(found: Iterator[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Those that the audit does not see and that nothing excuses."""
    return [flip for flip in found if not verify(damaged(*flip)) and uncovered(*flip) is None]


def test_nothing_is_wrong_with_the_image() -> None:
    assert verify(damaged("", 0, 0)) == []
    assert {path.rpartition("/")[2].partition(".")[2] for path in files()} >= {
        "log", "index", "timeindex", "txnindex", "snapshot", "metadata", "properties",
    }  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    [".index", ".timeindex", ".txnindex", "checkpoint", "metadata", "properties", "shutdown"],
)
def test_verify_finds_a_flip_in_every_byte_of_a_small_file(kind: str) -> None:
    bits = (0, 4) if kind == "properties" else tuple(range(8))
    assert missed(flips(kind, bits)) == []


@pytest.mark.parametrize("kind", [".snapshot", ".log"])
def test_verify_finds_a_flip_in_every_byte_under_a_checksum_and_beside_it(kind: str) -> None:
    chance = random.Random(kind)
    sampled = ((path, at, chance.randrange(8)) for path, at, _ in flips(kind, (0,)))
    assert missed(sampled) == []


@pytest.mark.long
def test_verify_finds_every_flip_there_is() -> None:
    assert missed(flips()) == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_two_flips_are_found_like_one(data: st.DataObject) -> None:
    """In files under a checksum, wherever they are."""
    path = data.draw(
        st.sampled_from([name for name in files() if name.endswith((".log", "snapshot"))])
    )
    content = files()[path]
    first, second = (data.draw(st.integers(0, len(content) - 1)) for _ in range(2))
    bits = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 7))
    disk = damaged(path, first, bits[0])
    twice = bytearray(disk.read_file(path))
    twice[second] ^= 1 << bits[1]
    disk.write_file(path, bytes(twice))
    assert twice == content or verify(disk) != []


def test_a_higher_offset_of_the_last_batch_contradicts_the_checkpoints() -> None:
    """Also where nobody knows whether the log may have gaps."""
    path = max(name for name in files() if name.endswith(".log"))
    last = max(batch.base_offset for batch in iterate_batches(files()[path]))
    position = files()[path].index(last.to_bytes(8, "big"))
    found = audit_log_dirs(damaged(path, position + 6, 0), [LOG_DIR])
    assert any("closed cleanly" in finding.problem for finding in found)


# What a start does about it.


def opened(disk: FaultDisk, *, clean: bool) -> LogHarness | None:
    """The log as a broker opens it; None where it refuses to serve it."""
    if not clean:
        disk.unlink(MARK)
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            disk.unlink(f"{LOG_DIR}/{name}")
    try:
        return LogHarness(disk, CONFIG)
    except (KafkaError, StorageError):
        return None


@cache
def original() -> Pairs:
    """What the image holds."""
    harness = opened(damaged("", 0, 0), clean=True)
    assert harness is not None
    return harness.content()


def test_a_start_after_an_unclean_stop_brings_back_no_record_that_was_not_written() -> None:
    """Only the base offset is neither checksummed nor known otherwise: its batch moves."""
    chance = random.Random(1)
    for path, position, _ in flips(".log", (0,)):
        if _in_batch(path, position) < 8:
            continue
        harness = opened(damaged(path, position, chance.randrange(8)), clean=False)
        if harness is not None:
            found = harness.content()
            assert found == original()[: len(found)], (path, position)


def test_a_start_after_an_unclean_stop_makes_everything_but_batches_anew() -> None:
    for path, position, bit in flips("", (1,)):
        if path.endswith((".log", "metadata", "properties", "log-start-offset-checkpoint")):
            continue
        harness = opened(damaged(path, position, bit) if path != MARK else image(), clean=False)
        assert harness is not None
        assert harness.content() == original(), (path, position)


def _in_batch(path: str, position: int) -> int:
    """Where in its batch a byte of a segment is."""
    begin = 0
    for batch in iterate_batches(files()[path]):
        if begin + batch.size > position:
            break
        begin += batch.size
    return position - begin


# What readers see after a clean start, where indexes are not read through.


@pytest.mark.parametrize("kind", [".index", ".timeindex"])
def test_readers_get_right_data_or_an_error_from_a_log_with_a_flipped_index(kind: str) -> None:
    truth = _answers(damaged("", 0, 0))
    assert truth is not None
    outcomes: Counter[bool] = Counter()
    for path, position, bit in flips(kind, (0, 1, 3, 7)):
        answers = _answers(damaged(path, position, bit))
        outcomes[answers is not None] += 1
        if answers is not None:
            assert answers[0] == truth[0], (path, position, bit)
            assert answers[1] == truth[1], (path, position, bit)
    assert outcomes[True] > outcomes[False]


def _answers(disk: FaultDisk) -> tuple[dict[int, int], dict[int, object]] | None:
    """First batch from each offset, and offset of each time; None for an error.

    On the way: whoever is shown records of the aborted transaction is told of it.
    """
    harness = opened(disk, clean=True)
    if harness is None:
        return None
    log = harness.log
    firsts: dict[int, int] = {}
    try:
        for offset in range(log.log_end_offset):
            result = log.read(offset, 1, ReadBound.LOG_END, True)
            assert result.slice is not None
            data = result.slice.read()
            result.slice.release()
            firsts[offset] = next(iterate_batches(data)).base_offset
            committed = log.read(offset, 200, ReadBound.LAST_STABLE, True)
            if committed.slice is not None:
                shown = {batch.base_offset for batch in iterate_batches(committed.slice.read())}
                committed.slice.release()
                assert not shown & ABORTED or committed.aborted_transactions, offset
        times: dict[int, object] = {}
        for second in range(-1, 20):
            found = log.offset_for_timestamp(START_MS + 1000 * second)
            times[second] = found and (found.timestamp, found.offset)
        latest = log.max_timestamp_offset()
        times[99] = latest and (latest.timestamp, latest.offset)
    except (KafkaError, CorruptFileError):
        return None
    return firsts, times
