"""Aborted data goes; a marker stays as long as its data."""

from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record
from storage.cleaner.transactions import CleanedTransactions
from storage.segment.transaction_index import AbortedEntry


def data(offset: int, producer_id: int = 1, *, transactional: bool = True) -> RecordBatch:
    return parse_batch(
        build_batch(
            [Record(0, 0, b"k", b"v", [])],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=transactional,
        )
    )


def marker(offset: int, producer_id: int = 1, *, commit: bool) -> RecordBatch:
    return parse_batch(
        build_end_transaction_marker(
            EndTransactionMarker(commit, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=0,
            base_offset=offset,
        )
    )


ABORTED = AbortedEntry(1, 10, 12, 13)


def test_data_of_an_aborted_transaction_may_go_and_its_marker_stays() -> None:
    found = CleanedTransactions([ABORTED])
    assert found.data_may_go(data(10))
    assert found.data_may_go(data(11))
    assert not found.marker_may_go(marker(12, commit=False))
    assert found.take_kept() == [ABORTED]
    assert found.take_kept() == []
    assert not found.data_may_go(data(13))


def test_a_marker_whose_data_is_gone_may_go() -> None:
    found = CleanedTransactions([ABORTED])
    assert found.marker_may_go(marker(12, commit=False))
    assert found.marker_may_go(marker(14, commit=True))
    assert found.take_kept() == []


def test_a_commit_marker_stays_while_there_is_data() -> None:
    found = CleanedTransactions([])
    assert not found.data_may_go(data(3))
    assert not found.marker_may_go(marker(4, commit=True))
    assert found.marker_may_go(marker(5, commit=True))


def test_data_before_the_transaction_and_of_others_is_not_aborted() -> None:
    found = CleanedTransactions([ABORTED])
    assert not found.data_may_go(data(9))
    assert not found.data_may_go(data(10, producer_id=2))
    assert not found.data_may_go(data(10, transactional=False))


def test_transactions_of_one_producer_follow_each_other() -> None:
    later = AbortedEntry(1, 20, 22, 23)
    found = CleanedTransactions([later, ABORTED])
    assert found.data_may_go(data(10))
    assert not found.marker_may_go(marker(12, commit=False))
    assert not found.data_may_go(data(15))
    assert not found.marker_may_go(marker(16, commit=True))
    assert found.data_may_go(data(20))
    assert not found.marker_may_go(marker(22, commit=False))
    assert found.take_kept() == [ABORTED, later]


def test_a_transaction_named_twice_is_one() -> None:
    found = CleanedTransactions([ABORTED, ABORTED])
    assert found.data_may_go(data(10))
    assert not found.marker_may_go(marker(12, commit=False))
    assert found.take_kept() == [ABORTED]


def test_an_emptied_marker_may_go_and_others_control_records_stay() -> None:
    found = CleanedTransactions([])
    empty = build_batch([], base_offset=5, last_offset_delta=0, is_control=True, producer_id=1)
    assert found.marker_may_go(parse_batch(empty))
    leader_change = build_batch([Record(0, 0, b"\0\0\0\2", b"", [])], is_control=True)
    assert not found.marker_may_go(parse_batch(leader_change))
