"""An audit finds whatever does not hold, and nothing where all holds."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from storage.audit import audit_log_dir
from storage.invariants.finding import Finding
from storage.log.results import Origin
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, LogHarness, records

PARTITION_DIR = f"{LOG_DIR}/orders-0"
FIRST = f"{PARTITION_DIR}/00000000000000000000"


def sound() -> FaultDisk:
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=800, index_interval_bytes=100))
    for number in range(20):
        harness.now_ms += 10
        harness.append([b"value-%d" % number])
    log = harness.log
    fields: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0}
    data = build_batch(records([b"x"]), is_transactional=True, base_sequence=0, **fields)
    log.append_as_leader(memoryview(data), 0, START_MS)
    marker = build_end_transaction_marker(
        EndTransactionMarker(False, 0), timestamp=START_MS, **fields
    )
    log.append_as_leader(memoryview(marker), 0, START_MS, origin=Origin.COORDINATOR)
    harness.close()
    return disk


def names(disk: FaultDisk, kind: str) -> list[str]:
    return sorted(
        f"{PARTITION_DIR}/{name}" for name in disk.listdir(PARTITION_DIR) if name.endswith(kind)
    )


def flip(path: Callable[[FaultDisk], str], at: int) -> Callable[[FaultDisk], None]:
    def damage(disk: FaultDisk) -> None:
        data = bytearray(disk.read_file(path(disk)))
        data[at] ^= 0x41
        disk.write_file(path(disk), bytes(data))

    return damage


def cut(path: Callable[[FaultDisk], str], by: int) -> Callable[[FaultDisk], None]:
    def damage(disk: FaultDisk) -> None:
        disk.write_file(path(disk), disk.read_file(path(disk))[:-by])

    return damage


def later_offset(path: str) -> Callable[[FaultDisk], None]:
    """The last entry but one of a time index speaks of an offset more than it should."""

    def damage(disk: FaultDisk) -> None:
        data = disk.read_file(path)
        timestamp, offset = struct.unpack(">qi", data[-24:-12])
        disk.write_file(path, data[:-24] + struct.pack(">qi", timestamp, offset + 1) + data[-12:])

    return damage


def move(source: str, target: str) -> Callable[[FaultDisk], None]:
    return lambda disk: disk.write_file(target, disk.read_file(source))


def test_nothing_is_found_in_a_sound_directory() -> None:
    disk = sound()
    assert names(disk, ".txnindex")
    assert audit_log_dir(disk, LOG_DIR) == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (flip(lambda _d: f"{FIRST}.log", 100), "checksum"),
        (flip(lambda _d: f"{FIRST}.log", 16), "magic"),
        (cut(lambda _d: f"{FIRST}.log", 5), "no whole batch"),
        (flip(lambda _d: f"{FIRST}.index", 7), "points at no batch"),
        (cut(lambda _d: f"{FIRST}.index", 3), "whole number"),
        (lambda d: d.unlink(f"{FIRST}.index"), "missing"),
        (flip(lambda _d: f"{FIRST}.timeindex", 0), "does not ascend"),
        (flip(lambda _d: f"{FIRST}.timeindex", 18), "does not ascend"),
        (later_offset(f"{FIRST}.timeindex"), "has timestamp"),
        (lambda d: d.unlink(names(d, ".txnindex")[0]), "is missing"),
        (flip(lambda d: names(d, ".txnindex")[0], 9), "should be"),
        (flip(lambda d: names(d, ".txnindex")[0], 24), "names no marker"),
        (cut(lambda d: names(d, ".txnindex")[0], 1), "whole number"),
        (flip(lambda d: names(d, ".snapshot")[0], 5), "checksum"),
        (
            lambda d: move(names(d, ".snapshot")[0], f"{PARTITION_DIR}/{900:020d}.snapshot")(d),
            "beyond the log end",
        ),
        (move(f"{FIRST}.index", f"{PARTITION_DIR}/{900:020d}.index"), "without its .log"),
        (lambda d: d.write_file(f"{PARTITION_DIR}/leader-epoch-checkpoint", b"9\n0\n"), "version"),
        (
            lambda d: d.write_file(f"{PARTITION_DIR}/partition.metadata", b"version: 7"),
            "unrecognized",
        ),
        (lambda d: d.write_file(f"{LOG_DIR}/replication-offset-checkpoint", b"0\n3\n"), "expected"),
        (lambda d: d.write_file(f"{FIRST}.log", d.read_file(names(d, ".log")[1])), "goes back"),
    ],
)
def test_every_kind_of_damage_is_found(damage: Callable[[FaultDisk], None], problem: str) -> None:
    disk = sound()
    damage(disk)
    findings = audit_log_dir(disk, LOG_DIR)
    assert any(problem in str(finding) for finding in findings), findings


def test_epochs_and_ends_that_go_back_are_found() -> None:
    disk = sound()
    data = build_batch(records([b"a"]), leader_epoch=4) + build_batch(
        records([b"b"]), base_offset=1, leader_epoch=3
    )
    backwards = build_batch(records([b"c"]), base_offset=2, leader_epoch=4)
    backwards[23:27] = (0xFFFFFFFE).to_bytes(4, "big")
    disk.write_file(f"{FIRST}.log", bytes(data + backwards))
    found = " ".join(map(str, audit_log_dir(disk, LOG_DIR)))
    assert "leader epoch 3 at offset 1 goes back" in found


def test_a_finding_says_where() -> None:
    assert str(Finding("/data/x", "wrong")) == "/data/x: wrong"
