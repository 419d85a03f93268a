"""What becomes of one batch."""

import pytest

from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.builder import build_batch
from protocol.records.compaction import OffsetMap
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record
from storage.cleaner.order import LastRecord
from storage.cleaner.rewriting import BatchCleaner, CleaningRules
from storage.cleaner.transactions import CleanedTransactions
from storage.segment.transaction_index import AbortedEntry

NOW = 1_000_000
RETENTION = 500
FAR = 1 << 40


def cleaner(
    newest: dict[bytes, int],
    producers: dict[int, LastRecord] | None = None,
    aborted: list[AbortedEntry] | None = None,
    map_end: int = FAR,
    round_end: int = FAR,
) -> BatchCleaner:
    offsets = OffsetMap(100, 90, bytes(16))
    for key, offset in newest.items():
        offsets.put(key, offset)
    rules = CleaningRules(offsets, map_end, round_end, producers or {}, NOW, RETENTION)
    return BatchCleaner(rules, CleanedTransactions(aborted or []))


def batch(*records: Record, **fields: object) -> RecordBatch:
    return parse_batch(build_batch(records, **fields))  # type: ignore[arg-type]


def record(key: bytes | None, value: bytes | None, timestamp: int = 7) -> Record:
    return Record(0, timestamp, key, value, [("h", b"x")])


def header(found: RecordBatch) -> tuple[int, ...]:
    return (
        found.base_offset,
        found.last_offset,
        found.leader_epoch,
        found.producer_id,
        found.producer_epoch,
        found.base_sequence,
    )


def test_a_batch_of_which_all_stays_is_the_same_bytes() -> None:
    given = batch(record(b"a", b"1"), record(b"b", b"2"), base_offset=5)
    assert cleaner({b"a": 5, b"b": 6}).clean(given) is given


@pytest.mark.parametrize("codec", range(5))
def test_records_that_stay_keep_their_offsets_and_the_batch_its_header(codec: int) -> None:
    given = batch(
        record(b"a", b"1", 100),
        record(b"b", b"2", 105),
        record(b"a", b"3", 109),
        codec=codec,
        base_offset=5,
        leader_epoch=3,
        producer_id=9,
        producer_epoch=2,
        base_sequence=40,
        is_transactional=True,
    )
    found = cleaner({b"a": 7, b"b": 99}).clean(given)
    assert found is not None
    assert found.crc_ok()
    assert header(found) == header(given)
    assert (found.codec, found.is_transactional, found.has_delete_horizon) == (codec, True, False)
    assert (found.base_timestamp, found.max_timestamp, found.record_count) == (109, 109, 1)
    assert found.records() == [Record(7, 109, b"a", b"3", [("h", b"x")])]


def test_records_without_a_key_go() -> None:
    found = cleaner({}).clean(batch(record(None, b"1"), record(b"b", b"2")))
    assert found is not None
    assert [one.key for one in found.records()] == [b"b"]


def test_a_batch_without_records_that_stay_is_dropped() -> None:
    assert cleaner({b"a": 99}).clean(batch(record(b"a", b"1"))) is None


def test_the_first_pass_gives_a_tombstone_its_horizon() -> None:
    given = batch(record(b"a", b"1", 50), record(b"b", None, 60))
    found = cleaner({b"a": 0, b"b": 1}).clean(given)
    assert found is not None
    assert found.has_delete_horizon
    assert found.base_timestamp == NOW + RETENTION
    assert [(one.key, one.timestamp) for one in found.records()] == [(b"a", 50), (b"b", 60)]
    assert cleaner({}).clean(found) is found


@pytest.mark.parametrize(("horizon", "stays"), [(NOW + 1, True), (NOW, False), (NOW - 9, False)])
def test_a_tombstone_goes_once_its_horizon_has_come(horizon: int, stays: bool) -> None:
    given = batch(record(b"a", b"1"), record(b"b", None), delete_horizon=horizon)
    found = cleaner({}).clean(given)
    assert found is not None
    assert [one.key for one in found.records()] == ([b"a", b"b"] if stays else [b"a"])
    assert (found.has_delete_horizon, found.base_timestamp) == (True, horizon)
    assert found.records()[0].timestamp == 7


def test_beyond_the_map_all_stay_but_tombstones_get_their_horizon() -> None:
    given = batch(record(None, b"1"), record(b"b", None), base_offset=10)
    found = cleaner({b"b": 99}, map_end=10).clean(given)
    assert found is not None
    assert (found.record_count, found.has_delete_horizon) == (2, True)


def test_under_log_append_time_every_record_keeps_the_batch_s_time() -> None:
    given = batch(record(b"a", b"1", 1), record(b"b", None, 2), log_append_time=900)
    found = cleaner({b"a": 99}).clean(given)
    assert found is not None
    assert (found.is_log_append_time, found.max_timestamp) == (True, 900)
    assert [(one.key, one.timestamp) for one in found.records()] == [(b"b", 900)]


def test_the_last_batch_of_a_live_producer_stays_as_a_header() -> None:
    given = batch(
        record(b"a", b"1"),
        record(b"a", b"2"),
        codec=1,
        producer_id=9,
        producer_epoch=2,
        base_sequence=40,
    )
    newest = {b"a": 99}
    found = cleaner(newest, {9: LastRecord(1, 2)}).clean(given)
    assert found is not None
    assert (found.size, found.record_count, found.last_sequence) == (61, 0, 41)
    assert header(found) == header(given)
    assert (found.codec, found.base_timestamp, found.max_timestamp) == (0, -1, 7)
    assert found.crc_ok()
    again = cleaner(newest, {9: LastRecord(1, 2)}).clean(found)
    assert again is not None
    assert bytes(again.view) == bytes(found.view)
    assert cleaner(newest, {9: LastRecord(5, 2)}).clean(given) is None
    assert cleaner(newest, {8: LastRecord(1, 2)}).clean(given) is None


def test_the_batch_at_the_end_of_the_round_stays_as_a_header() -> None:
    given = batch(record(b"a", b"1"), base_offset=5)
    found = cleaner({b"a": 99}, round_end=6).clean(given)
    assert found is not None
    assert (found.base_offset, found.record_count) == (5, 0)


def marker(offset: int, *, commit: bool) -> RecordBatch:
    return parse_batch(
        build_end_transaction_marker(
            EndTransactionMarker(commit, 0),
            producer_id=9,
            producer_epoch=2,
            timestamp=77,
            base_offset=offset,
        )
    )


def test_aborted_data_goes_whatever_its_keys_and_the_marker_stays_with_its_entry() -> None:
    aborted = AbortedEntry(9, 3, 4, 5)
    given = batch(
        record(b"only", b"1"),
        base_offset=3,
        producer_id=9,
        producer_epoch=2,
        base_sequence=0,
        is_transactional=True,
    )
    one = cleaner({}, aborted=[aborted])
    assert one.clean(given) is None
    end = marker(4, commit=False)
    assert one.clean(end) is end
    assert one.transactions.take_kept() == [aborted]
    kept = cleaner({}, {9: LastRecord(3, 2)}, [aborted]).clean(given)
    assert kept is not None
    assert kept.record_count == 0


def test_a_marker_without_data_gets_a_horizon_and_then_goes() -> None:
    first = cleaner({}).clean(marker(4, commit=True))
    assert first is not None
    assert (first.has_delete_horizon, first.is_control) == (True, True)
    assert first.base_timestamp == NOW + RETENTION
    assert first.records()[0].timestamp == 77
    assert cleaner({}).clean(first) is first
    due = batch(
        *first.records(),
        keep_offsets=True,
        base_offset=4,
        delete_horizon=NOW,
        producer_id=9,
        producer_epoch=2,
        is_transactional=True,
        is_control=True,
    )
    assert cleaner({}).clean(due) is None
    kept = cleaner({}, {9: LastRecord(-1, 2)}).clean(due)
    assert kept is not None
    assert (kept.is_control, kept.record_count, kept.producer_epoch) == (True, 0, 2)
    assert cleaner({}, {9: LastRecord(-1, 3)}).clean(due) is None
    assert cleaner({}).clean(kept) is None


def test_what_was_read_and_kept_is_counted() -> None:
    one = cleaner({b"a": 1}, aborted=[AbortedEntry(9, 3, 4, 5)])
    one.clean(batch(record(b"a", b"1"), record(b"a", b"2")))
    one.clean(batch(record(b"b", b"1"), base_offset=3, producer_id=9, is_transactional=True))
    assert (one.messages_read, one.messages_written) == (3, 1)
