"""Replay of a log that somebody damaged, or that a newer broker wrote."""

import pytest

from broker.coordinator.replay import RECORDS_A_STEP, Replay
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.log.results import Origin
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LogHarness
from tests.support.tally_shard import Tally


def append(harness: LogHarness, *records: tuple[bytes | None, bytes | None]) -> None:
    batch = build_batch([Record(0, 0, key, value, []) for key, value in records])
    harness.log.append_as_leader(memoryview(batch), 0, harness.now_ms, origin=Origin.COORDINATOR)


def replayed(harness: LogHarness) -> tuple[Tally, int]:
    """The shard, and in how many steps it came about."""
    shard, steps = Tally(), 0
    replay = Replay(harness.log, shard)
    while True:
        chunk = replay.next_slice()
        if chunk is None:
            return shard, steps
        data = chunk.read()
        chunk.release()
        steps += len(list(replay.steps(data)))


def test_a_large_batch_is_applied_in_several_steps() -> None:
    harness = LogHarness(FaultDisk())
    append(harness, *((b"%d" % number, b"1") for number in range(3 * RECORDS_A_STEP)))
    shard, steps = replayed(harness)
    assert len(shard.numbers) == 3 * RECORDS_A_STEP
    assert steps >= 3


def test_a_record_nobody_understands_is_left_out_loudly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = LogHarness(FaultDisk())
    append(harness, (b"a", b"1"), (b"b", b"not a number"), (None, b"3"), (b"c", b"4"))
    shard, _ = replayed(harness)
    assert shard.numbers == {b"a": 1, b"c": 4}
    assert "offset 1" in caplog.text


def test_a_damaged_batch_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    for number in range(3):
        append(harness, (b"%d" % number, b"1"))
    path = f"{harness.log.directory}/{0:020d}.log"
    data = bytearray(disk.read_file(path))
    data[len(data) // 2] ^= 1
    disk.write_file(path, bytes(data))
    shard, _ = replayed(harness)
    assert shard.numbers == {b"0": 1, b"2": 1}
    assert "checksum" in caplog.text


def test_what_is_appended_meanwhile_is_not_replayed() -> None:
    harness = LogHarness(FaultDisk())
    append(harness, (b"a", b"1"))
    shard = Tally()
    replay = Replay(harness.log, shard)
    append(harness, (b"b", b"1"))
    chunk = replay.next_slice()
    assert chunk is not None
    list(replay.steps(chunk.read()))
    chunk.release()
    assert replay.next_slice() is None
