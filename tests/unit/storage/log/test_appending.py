"""What followers take, and how producers and coordinators write transactions."""

import errno
from typing import Any

import pytest

from config.topic_config import LogConfig
from protocol.errors import KafkaError
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from storage.errors import StorageError
from storage.log.appending import OffsetsOutOfOrder
from storage.log.results import Origin
from storage.producer.verification import NO_TERMS, TransactionTerms, Verification
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, START_MS, LogHarness, records
from tests.support.transactional_log import TransactionalProducer, read_committed


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


def test_an_abort_that_cannot_be_indexed_is_not_written() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    producer = TransactionalProducer(7)
    producer.append(harness, [b"open"])
    disk.fail("open", errno.EMFILE, path_ends=".txnindex")
    with pytest.raises(OSError, match="injected"):
        producer.end(harness, commit=False)
    assert harness.log.log_end_offset == 1
    assert harness.log.last_stable_offset == 0
    producer.end(harness, commit=False)
    harness.log.update_high_watermark(2)
    assert read_committed(harness.log, 0) == []


def test_a_disk_that_fails_after_the_marker_was_written_ends_the_directory() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    producer = TransactionalProducer(7)
    producer.append(harness, [b"open"])
    disk.fail("pwrite", errno.EIO, path_ends=".txnindex")
    with pytest.raises(StorageError):
        producer.end(harness, commit=False)
    assert harness.log.log_end_offset == 2
    harness.manager.fail_dir(LOG_DIR)
    harness.close()
    assert disk.open_count == 0
    disk.restart()
    again = LogHarness(disk)
    assert again.report.recovered == 1
    again.log.update_high_watermark(2)
    assert again.log.last_stable_offset == 2
    assert read_committed(again.log, 0) == []


def test_a_refused_batch_rolls_nothing() -> None:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=150))
    harness.append([b"x" * 60], producer_id=7, producer_epoch=0, base_sequence=0)
    with pytest.raises(KafkaError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        harness.append([b"x" * 60], producer_id=7, producer_epoch=0, base_sequence=5)
    assert harness.log.segment_count == 1
    assert harness.append([b"x" * 60], producer_id=7, producer_epoch=0, base_sequence=0) == (0, 0)
    assert harness.log.segment_count == 2


def test_a_transaction_opens_only_with_what_was_asked_about_it() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    log.environment = log.environment._replace(verifies_transactions=lambda: True)
    producer = TransactionalProducer(7)

    def append(terms: TransactionTerms) -> None:
        data = memoryview(producer.batch(log, [b"x"], START_MS))
        log.append_as_leader(data, 0, START_MS, terms=terms)

    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        append(NO_TERMS)
    asked = log.start_verification(7, Verification(0, 0, False, START_MS))
    producer.end(harness, commit=False)
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        append(TransactionTerms(asked))
    append(TransactionTerms(log.start_verification(7, Verification(0, 0, False, START_MS))))
    assert log.start_verification(7, Verification(1, 0, False, START_MS)) is None
    append(NO_TERMS)


def test_a_marker_of_transactions_v2_must_raise_the_epoch() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    producer = TransactionalProducer(7)
    producer.append(harness, [b"x"])
    terms = TransactionTerms(transaction_version=2)

    def end(*, bump: bool) -> None:
        data = memoryview(producer.marker(log, START_MS, commit=True, bump=bump))
        log.append_as_leader(data, 0, START_MS, origin=Origin.COORDINATOR, terms=terms)

    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        end(bump=False)
    end(bump=True)
    assert producer.expected(log) == (1, 0)


def batch_of(sequence: int, size: int = 1) -> memoryview:
    return memoryview(
        build_batch(
            records([b"x"] * size),
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
        )
    )


def answers(harness: LogHarness, sequences: range) -> list[str]:
    """What a producer that sends each batch again is told."""
    found = []
    for sequence in sequences:
        try:
            result = harness.log.append_as_leader(batch_of(sequence), 0, START_MS)
        except KafkaError as error:
            found.append(error.code.name)
        else:
            found.append(f"{'again' if result.duplicate else 'new'} {result.base_offset}")
    return found


REFUSED = "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_after_a_kill_the_last_five_batches_are_known_by_replay() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    for sequence in range(7):
        harness.log.append_as_leader(batch_of(sequence), 0, START_MS)
    disk.restart()
    again = LogHarness(disk)
    known = [REFUSED, REFUSED, *(f"again {number}" for number in range(2, 7)), "new 7"]
    assert answers(again, range(8)) == known


def test_after_a_clean_shutdown_only_the_snapshot_s_last_batch_is_known() -> None:
    disk = FaultDisk()
    harness = LogHarness(disk)
    for sequence in range(7):
        harness.log.append_as_leader(batch_of(sequence), 0, START_MS)
    harness.close()
    assert answers(LogHarness(disk), range(5, 8)) == [REFUSED, "again 6", "new 7"]


def test_sequences_wrap_and_are_known_across_the_wrap_and_a_restart() -> None:
    last = 2**31 - 1
    disk = FaultDisk()
    harness = LogHarness(disk)
    harness.log.append_as_leader(batch_of(last - 1, 3), 0, START_MS)
    assert harness.log.append_as_leader(batch_of(last - 1, 3), 0, START_MS).duplicate
    harness.close()
    again = LogHarness(disk)
    assert again.log.append_as_leader(batch_of(last - 1, 3), 0, START_MS).duplicate
    assert answers(again, range(3)) == [REFUSED, "new 3", "new 4"]


def test_an_older_timestamp_of_a_producer_s_last_batch_counts() -> None:
    harness = LogHarness(FaultDisk())
    log = harness.log
    log.environment = log.environment._replace(producer_id_expiration_ms=lambda: 1000)
    harness.append([b"x"], producer_id=7, producer_epoch=0, base_sequence=0)
    harness.now_ms -= 500
    harness.append([b"x"], producer_id=7, producer_epoch=0, base_sequence=1)
    TransactionalProducer(8).append(harness, [b"open"])
    assert log.expire_producers(START_MS + 499) == 0
    assert log.expire_producers(START_MS + 500) == 1
    assert [entry.producer_id for entry in log.active_producers()] == [8]
    harness.append([b"x"], producer_id=7, producer_epoch=0, base_sequence=55)


def test_segments_adjoin_over_a_gap_in_what_a_leader_sent() -> None:
    harness = LogHarness(FaultDisk(), LogConfig(segment_bytes=100))
    for base_offset in (0, 9, 10 + 2**31):
        data = build_batch(records([b"x"]), base_offset=base_offset)
        harness.log.append_as_follower(memoryview(data), START_MS)
    assert [segment.base_offset for segment in harness.log.segments] == [0, 1, 10 + 2**31]
