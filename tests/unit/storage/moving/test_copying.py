"""Batches reach the copy as they are, and only sound ones do."""

import pytest

from storage.filenames import LOG
from storage.moving.copying import (
    CorruptSource,
    begin_at,
    cut_to,
    drop_before,
    follow_start,
)
from storage.reused_names import is_newer_than_checkpoints
from tests.support.moving import Pair


@pytest.fixture
def pair() -> Pair:
    made = Pair()
    made.append(14)
    made.begin()
    made.whole = made.content()
    return made


def test_a_copy_is_the_same_bytes_in_the_same_segments(pair: Pair) -> None:
    pair.copy()
    log = pair.future.log
    assert len(log.segments) == len(pair.current.segments) > 2
    for theirs, ours in zip(pair.current.segments, log.segments, strict=True):
        assert theirs.base_offset == ours.base_offset
        assert pair.disk.read_file(theirs.path(LOG)) == pair.disk.read_file(ours.path(LOG))
        assert theirs.offset_index.raw_entries() == ours.offset_index.raw_entries()
        assert theirs.time_index.raw_entries() == ours.time_index.raw_entries()
    assert log.epochs.entries() == pair.current.epochs.entries()
    theirs_known, ours_known = pair.current.producers.get(9), log.producers.get(9)
    assert theirs_known is not None
    assert ours_known is not None
    assert theirs_known.last_sequence == ours_known.last_sequence


@pytest.mark.parametrize("max_bytes", [1, 200, 350])
def test_slices_may_end_anywhere(pair: Pair, max_bytes: int) -> None:
    for _ in range(100):
        pair.slice(max_bytes)
    assert pair.content(pair.future.log) == pair.content()


@pytest.mark.parametrize("batch", [0, 1, 4])
@pytest.mark.parametrize("at", [0, 3, 8, 11, 16, 17, 23, 60, 90])
def test_a_damaged_batch_is_named_and_not_copied(pair: Pair, batch: int, at: int) -> None:
    """Whatever byte is flipped; the offset's own bits count where they break the order."""
    segment = pair.current.segments.first
    position = batch * pair.batch_size
    fd = pair.disk.open(segment.path(LOG))
    before = pair.disk.pread(fd, 1, position + at)
    pair.disk.pwrite(fd, bytes([before[0] ^ 0x55]), position + at)
    pair.disk.close(fd)
    failure = None
    for _ in range(40):
        try:
            failure = pair.slice(200).failure
        except CorruptSource as error:
            failure = error
        if failure is not None:
            break
    assert isinstance(failure, CorruptSource)
    assert failure.path == segment.path(LOG)
    assert pair.content(pair.future.log) == [
        (number, value) for number, value in pair.whole if number < 2 * batch
    ]


def test_beginning_anew_takes_the_producers_along(pair: Pair) -> None:
    base = pair.current.segments[1].base_offset
    snapshot = pair.disk.read_file(pair.current.producers.snapshot_path(base))
    log = pair.future.log
    begin_at(log, base, snapshot, pair.now_ms)
    assert (log.log_start_offset, log.log_end_offset) == (base, base)
    known = log.producers.get(9)
    assert known is not None
    assert known.last_sequence == base - 1
    assert is_newer_than_checkpoints(pair.disk, log.directory)
    pair.copy()
    assert pair.content(log) == [one for one in pair.content() if one[0] >= base]


def test_a_damaged_snapshot_is_done_without(pair: Pair) -> None:
    base = pair.current.segments[1].base_offset
    begin_at(pair.future.log, base, b"\0\1nonsense", pair.now_ms)
    assert pair.future.log.producers.get(9) is None
    pair.copy()
    assert pair.future.log.producers.get(9) is not None


def test_a_cut_is_durable_before_anything_is_written_anew(pair: Pair) -> None:
    pair.copy()
    log = pair.future.log
    cut_to(log, 5, pair.now_ms)
    assert log.log_end_offset == 4
    assert is_newer_than_checkpoints(pair.disk, log.directory)
    assert not [name for name in pair.disk.listdir(log.directory) if name.endswith(".deleted")]
    pair.copy()
    assert pair.content(log) == pair.content()


def test_segments_below_the_start_go_at_once(pair: Pair) -> None:
    pair.copy()
    log = pair.future.log
    third = log.segments[2].base_offset
    follow_start(log, third + 1, third + 2)
    assert (log.log_start_offset, log.segments.first.base_offset) == (third + 1, third)
    names = pair.disk.listdir(log.directory)
    assert min(name for name in names if name.endswith(LOG)) == f"{third:020d}.log"
    drop_before(log, 0)
    assert log.segments.first.base_offset == third


def test_an_offset_nobody_has_before_an_empty_segment_is_reached(pair: Pair) -> None:
    """As compaction leaves it: the last batches of the log are gone, a new segment has begun."""
    end_offset = pair.current.log_end_offset + 7
    pair.run(pair.current.roll(pair.now_ms, end_offset))
    pair.current.log_end_offset = end_offset
    pair.copy()
    assert pair.future.log.log_end_offset == end_offset
    assert pair.future.log.segments.active.base_offset == end_offset
