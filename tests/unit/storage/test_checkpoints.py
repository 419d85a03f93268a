"""Checkpoint files have Kafka's text, and hold the old text or the new one after any crash."""

import random

import pytest

from protocol.model import TopicPartition
from storage.checkpoints import OffsetCheckpoint, encode_offsets
from storage.errors import CorruptFileError
from tests.support.fault_disk import Crash, FaultDisk
from tests.support.storage_golden import golden_files

OLD = {TopicPartition("a", 0): 1}
NEW = {TopicPartition("a", 0): 2, TopicPartition("b.c-d", 11): 2**62}


def checkpoint(content: bytes | None = None) -> tuple[FaultDisk, OffsetCheckpoint]:
    disk = FaultDisk()
    disk.mkdir("/d")
    if content is not None:
        disk.write_file("/d/c", content)
    disk.sync_all()
    return disk, OffsetCheckpoint(disk, "/d", "c")


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ],
)
def test_kafka_s_files_are_read_and_written_alike(name: str) -> None:
    content = golden_files()[name]
    disk, file = checkpoint(content)
    offsets = file.read()
    assert encode_offsets(offsets) == content
    file.write(offsets)
    assert disk.read_file("/d/c") == content


def test_no_file_and_an_empty_one_have_no_offsets() -> None:
    assert checkpoint()[1].read() == {}
    assert checkpoint(b"")[1].read() == {}


@pytest.mark.parametrize(
    "content",
    [
        b"1\n0\n",
        b"x\n0\n",
        b"0\n",
        b"0\nx\n",
        b"0\n-1\n",
        b"0\n2\na 0 1\n",
        b"0\n0\na 0 1\n",
        b"0\n1\na 0\n",
        b"0\n1\na 0 1 2\n",
        b"0\n1\na x 1\n",
        b"\xff\xfe",
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    disk, file = checkpoint(content)
    with pytest.raises(CorruptFileError):
        file.read()
    assert disk.read_file("/d/c") == content


def test_a_crash_leaves_the_old_offsets_or_the_new_ones() -> None:
    outcomes = []
    for change in range(1, 20):
        for seed in range(8):
            disk, file = checkpoint(encode_offsets(OLD))
            disk.crash_at(change)
            try:
                file.write(NEW)
            except Crash:
                pass
            else:
                return
            disk.power_cut(random.Random(seed) if seed else None)
            outcomes.append(file.read())
            assert outcomes[-1] in (OLD, NEW)
    raise AssertionError("writing never ended")


def test_what_was_written_survives_a_power_cut() -> None:
    disk, file = checkpoint(encode_offsets(OLD))
    file.write(NEW)
    disk.power_cut()
    assert file.read() == NEW
