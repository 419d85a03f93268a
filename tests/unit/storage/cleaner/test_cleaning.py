"""One cleaning in steps, on files."""

from collections.abc import Sequence

import pytest

from protocol.crc32c import crc32c
from protocol.records.batch import iterate_batches
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.cleaner.cleaning import Cleaning
from storage.cleaner.order import (
    CleanedGroup,
    CleaningOrder,
    CleaningStats,
    Source,
    Uncleanable,
)
from storage.filenames import (
    CLEANED,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    parse_segment_file_name,
    segment_path,
)
from storage.segment.file_set import SegmentSettings
from tests.support.fault_disk import FaultDisk

ALL = 1 << 40
Found = list[tuple[int, bytes | None, bytes | None]]


class Files:
    """Sealed segments of ten offsets each, one record a batch."""

    def __init__(self, *segments: Sequence[tuple[bytes, bytes | None]]) -> None:
        self.disk = FaultDisk()
        self.disk.mkdir("/log")
        self.sources = []
        for index, pairs in enumerate(segments):
            data = b"".join(
                bytes(build_batch([Record(0, 0, *pair, [])], base_offset=10 * index + at))
                for at, pair in enumerate(pairs)
            )
            path = segment_path("/log", 10 * index, LOG)
            self.disk.now_ms = 1000 + index
            self.disk.write_file(path, data)
            self.disk.set_mtime(path, 1000 + index)
            self.sources.append(Source(10 * index, 10 * index + 10, len(data)))
        self.disk.sync_all()

    def order(
        self, *, dirty: int = 0, most_keys: int = 50, segment_bytes: int = 1 << 20
    ) -> CleaningOrder:
        return CleaningOrder(
            "/log",
            tuple(self.sources),
            (),
            dirty,
            {},
            0,
            100,
            segment_bytes,
            SegmentSettings(100, 1024),
            4096,
            most_keys + 5,
            most_keys,
            bytes(16),
        )

    def content(self, base_offset: int) -> Found:
        data = self.disk.read_file(segment_path("/log", base_offset, LOG, CLEANED))
        return [
            (record.offset, record.key, record.value)
            for batch in iterate_batches(data)
            for record in batch.records()
        ]


def run(cleaning: Cleaning, most_bytes: int = ALL) -> tuple[list[CleanedGroup], CleaningStats]:
    groups = []
    while True:
        progress = cleaning.advance(most_bytes)
        if progress.group is not None:
            groups.append(progress.group)
        if progress.stats is not None:
            return groups, progress.stats


TWO = [(b"a", b"1"), (b"b", b"2")], [(b"a", b"3"), (b"c", b"4")]


def test_segments_become_one_with_the_last_record_of_each_key() -> None:
    files = Files(*TWO)
    groups, stats = run(Cleaning(files.disk, files.order()))
    assert groups == [CleanedGroup(0, (0, 10))]
    assert files.content(0) == [(1, b"b", b"2"), (10, b"a", b"3"), (11, b"c", b"4")]
    assert stats.end_offset == 20
    assert (stats.messages_read, stats.messages_written) == (4, 3)
    assert stats.bytes_read == stats.map_bytes_read == sum(one.size for one in files.sources)
    assert stats.map_utilization == pytest.approx(3 / 55)
    assert files.disk.open_count == 0


def test_segments_that_do_not_fit_one_stay_apart() -> None:
    files = Files(*TWO)
    groups, _ = run(Cleaning(files.disk, files.order(segment_bytes=10)))
    assert groups == [CleanedGroup(0, (0,)), CleanedGroup(10, (10,))]
    assert files.content(0) == [(1, b"b", b"2")]


def test_a_group_is_told_of_when_nothing_of_it_can_be_lost() -> None:
    files = Files(*TWO)
    cleaning = Cleaning(files.disk, files.order())
    while cleaning.advance(ALL).group is None:
        pass
    wanted = files.content(0)
    files.disk.power_cut()
    assert files.content(0) == wanted
    for kind in (OFFSET_INDEX, TIME_INDEX):
        assert files.disk.exists(segment_path("/log", 0, kind, CLEANED))


def test_the_new_file_is_as_old_as_its_last_source() -> None:
    files = Files(*TWO)
    files.disk.now_ms = 99_999
    run(Cleaning(files.disk, files.order()))
    assert files.disk.mtime_ms(segment_path("/log", 0, LOG, CLEANED)) == 1001


def test_nothing_is_written_but_names_that_a_start_removes() -> None:
    files = Files(*TWO)
    before = set(files.disk.listdir("/log"))
    cleaning = Cleaning(files.disk, files.order())
    cleaning.advance(1)
    assert set(files.disk.listdir("/log")) == before
    run(cleaning, 1)
    new = [parse_segment_file_name(name) for name in set(files.disk.listdir("/log")) - before]
    assert new
    assert {file.suffix for file in new if file is not None} == {CLEANED}


def test_a_step_moves_about_as_much_as_it_may() -> None:
    many = [(b"%d" % n, b"x" * 30_000) for n in range(10)]
    files = Files(many, many)
    cleaning = Cleaning(files.disk, files.order())
    moved = []
    while True:
        progress = cleaning.advance(70_000)
        moved.append(progress.moved_bytes)
        if progress.stats is not None:
            break
    assert max(moved) < 250_000
    assert sum(moved) == progress.stats.map_bytes_read + progress.stats.bytes_read + (
        progress.stats.bytes_written
    )


def test_a_full_map_cleans_up_to_the_last_batch_that_is_wholly_in_it() -> None:
    files = Files([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], [(b"a", b"4"), (b"b", b"5")])
    groups, stats = run(Cleaning(files.disk, files.order(most_keys=2)))
    assert stats.end_offset == 2
    assert groups == [CleanedGroup(0, (0,))]
    assert files.content(0) == [(0, b"a", b"1"), (1, b"b", b"2"), (2, b"a", b"3")]


def test_the_next_cleaning_goes_on_where_the_map_was_full() -> None:
    files = Files([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], [(b"a", b"4"), (b"b", b"5")])
    groups, stats = run(Cleaning(files.disk, files.order(dirty=2)))
    assert stats.end_offset == 20
    assert groups == [CleanedGroup(0, (0, 10))]
    assert files.content(0) == [(10, b"a", b"4"), (11, b"b", b"5")]


def test_keys_before_the_first_dirty_offset_need_no_room() -> None:
    files = Files([(b"%d" % n, b"x") for n in range(9)], [(b"a", b"4")])
    _, stats = run(Cleaning(files.disk, files.order(dirty=9, most_keys=2)))
    assert stats.end_offset == 20
    assert len(files.content(0)) == 10


def test_a_batch_with_more_keys_than_the_map_takes_is_told_of() -> None:
    files = Files([])
    data = build_batch([Record(0, 0, b"%d" % n, b"", []) for n in range(3)])
    files.disk.write_file(segment_path("/log", 0, LOG), bytes(data))
    files.sources = [Source(0, 10, len(data))]
    with pytest.raises(Uncleanable, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        run(Cleaning(files.disk, files.order(most_keys=2)))


def test_damage_is_met_before_anything_is_made_of_it() -> None:
    files = Files(*TWO)
    path = segment_path("/log", 10, LOG)
    data = bytearray(files.disk.read_file(path))
    data[-1] ^= 1
    files.disk.write_file(path, bytes(data))
    before = set(files.disk.listdir("/log"))
    cleaning = Cleaning(files.disk, files.order())
    with pytest.raises(Uncleanable) as caught:
        run(cleaning)
    assert (caught.value.path, caught.value.position) == (path, len(data) // 2)
    assert set(files.disk.listdir("/log")) == before
    cleaning.close()


def test_damage_in_the_clean_part_is_met_too() -> None:
    files = Files(*TWO)
    path = segment_path("/log", 0, LOG)
    data = bytearray(files.disk.read_file(path))
    data[-1] ^= 1
    files.disk.write_file(path, bytes(data))
    cleaning = Cleaning(files.disk, files.order(dirty=10))
    with pytest.raises(Uncleanable):
        run(cleaning)
    cleaning.close()
    assert files.disk.open_count == 0


def test_records_that_cannot_be_read_make_a_log_uncleanable() -> None:
    files = Files([])
    data = build_batch([Record(0, 0, b"k", b"v", [])], codec=1)
    data[61] ^= 0xFF
    data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    files.disk.write_file(segment_path("/log", 0, LOG), bytes(data))
    files.sources = [Source(0, 10, len(data))]
    with pytest.raises(Uncleanable, match="position 0"):
        run(Cleaning(files.disk, files.order()))


def test_a_cleaning_that_is_given_up_has_no_file_open() -> None:
    many = [(b"%d" % n, b"x" * 30_000) for n in range(10)]
    files = Files(many)
    cleaning = Cleaning(files.disk, files.order())
    for _ in range(6):
        cleaning.advance(1)
    cleaning.close()
    assert files.disk.open_count == 0
