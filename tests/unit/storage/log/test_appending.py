"""What followers take."""

from typing import Any

import pytest

from config.topic_config import LogConfig
from protocol.errors import KafkaError
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from storage.errors import StorageError
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


def replicated(*, commit: bool) -> LogHarness:
    harness = LogHarness(FaultDisk(), LogConfig(flush_messages=1, file_delete_delay_ms=0))
    fields: dict[str, Any] = {"producer_id": 3, "producer_epoch": 0}
    data = build_batch(
        records([b"a", b"b"]), base_offset=4, base_sequence=0, is_transactional=True, **fields
    )
    data += build_end_transaction_marker(
        EndTransactionMarker(commit, 0), timestamp=START_MS, base_offset=6, **fields
    )
    result = harness.log.append_as_follower(memoryview(data), START_MS)
    assert result is not None
    harness.run(result.jobs)
    return harness


@pytest.mark.parametrize("commit", [True, False])
def test_followers_learn_of_producers_and_transactions(commit: bool) -> None:
    harness = replicated(commit=commit)
    log = harness.log
    assert log.flushed_end_offset == 7
    assert log.last_stable_offset == 0
    log.update_high_watermark(7)
    assert log.last_stable_offset == 7
    entries = log.segments.active.transaction_index.entries()
    assert [entry.first_offset for entry in entries] == ([] if commit else [4])
    harness.run(log.truncate_to(6, START_MS))
    assert (log.last_stable_offset, log.log_end_offset) == (4, 6)


def test_an_offline_log_takes_nothing() -> None:
    log = LogHarness(FaultDisk()).log
    log.fail()
    with pytest.raises(StorageError):
        log.append_as_follower(memoryview(build_batch(records([b"a"]))), START_MS)
