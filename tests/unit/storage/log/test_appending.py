"""What followers take."""

import pytest

from protocol.errors import KafkaError
from protocol.records.builder import build_batch
from storage.log.appending import OffsetsOutOfOrder
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, LogHarness, records


def test_nothing_is_written_where_a_later_batch_is_wrong() -> None:
    log = LogHarness(FaultDisk()).log
    good = build_batch(records([b"a"]), base_offset=0)
    bad = build_batch(records([b"b"]), base_offset=1)
    bad[-1] ^= 1
    with pytest.raises(KafkaError):
        log.append_as_follower(memoryview(good + bad), START_MS)
    with pytest.raises(OffsetsOutOfOrder):
        log.append_as_follower(memoryview(good + good), START_MS)
    assert (log.log_end_offset, log.size) == (0, 0)


def test_offsets_and_epochs_are_kept_byte_for_byte() -> None:
    harness = LogHarness(FaultDisk())
    data = build_batch(records([b"a"]), base_offset=5, leader_epoch=3)
    harness.log.append_as_follower(memoryview(bytes(data)), START_MS)
    assert harness.disk.read_file("/data/orders-0/00000000000000000000.log") == bytes(data)
    assert harness.log.epochs.entries() == [(3, 5)]
