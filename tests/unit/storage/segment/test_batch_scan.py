"""Walking over batches, of format 2 and older, torn and bad."""

import pytest

from protocol.records.errors import CorruptBatch
from storage.segment import batch_scan
from storage.segment.batch_scan import Read, check, scan_headers, scan_whole
from tests.support.record_batches import batch_at, legacy


def reader(data: bytes) -> Read:
    return lambda size, position: data[position : position + size]


BATCHES = [batch_at(0, 2, timestamp=5), batch_at(5, 3, timestamp=9, value=b"x" * 9000), batch_at(8)]
DATA = b"".join(bytes(batch.view) for batch in BATCHES)


def test_headers_say_where_batches_are_and_what_they_span() -> None:
    headers = list(scan_headers(reader(DATA), 0, len(DATA)))
    assert [(h.base_offset, h.last_offset, h.max_timestamp, h.size) for h in headers] == [
        (batch.base_offset, batch.last_offset, batch.max_timestamp, batch.size) for batch in BATCHES
    ]
    assert headers[1].position == BATCHES[0].size
    assert list(scan_headers(reader(DATA), headers[1].position, len(DATA))) == headers[1:]


@pytest.mark.parametrize("cut", [1, 16, 17, 40, 43, 60, 61])
def test_a_partial_batch_at_the_end_is_passed_over(cut: int) -> None:
    data = DATA + bytes(BATCHES[0].view)[:cut]
    assert len(list(scan_headers(reader(data), 0, len(data)))) == 3
    assert len(list(scan_whole(reader(data), 0, len(data)))) == 3


def test_a_file_shorter_than_promised_ends_the_walk() -> None:
    for cut in (len(DATA) - 1, BATCHES[0].size + 5, BATCHES[0].size + 100):
        assert len(list(scan_whole(reader(DATA[:cut]), 0, len(DATA)))) < 3
        assert len(list(scan_headers(reader(DATA[:10]), 0, len(DATA)))) == 0


@pytest.mark.parametrize("garbage", [bytes(100), b"\x7f" * 100, b"\xff" * 100])
def test_what_cannot_be_a_batch_is_an_error(garbage: bytes) -> None:
    data = DATA + garbage
    with pytest.raises(CorruptBatch):
        list(scan_headers(reader(data), 0, len(data)))
    with pytest.raises(CorruptBatch):
        list(scan_whole(reader(data), 0, len(data)))


def test_older_formats_are_walked_over() -> None:
    data = legacy(3, 0) + legacy(4, 1) + bytes(BATCHES[1].view) + legacy(9, 1, 88)
    for headers in (
        list(scan_headers(reader(data), 0, len(data))),
        [header for header, _ in scan_whole(reader(data), 0, len(data))],
    ):
        assert [(h.base_offset, h.last_offset, h.max_timestamp, h.magic) for h in headers] == [
            (3, 3, -1, 0),
            (4, 4, 77, 1),
            (5, 7, 9, 2),
            (9, 9, 88, 1),
        ]


def test_an_older_message_cut_short_ends_the_walk() -> None:
    data = legacy(3, 1) + legacy(4, 1)[:20]
    assert len(list(scan_headers(reader(data), 0, len(data)))) == 1
    assert len(list(scan_headers(reader(data), 0, len(data) + 10))) == 1


def test_checksums_of_all_formats_are_checked() -> None:
    data = bytearray(legacy(3, 0) + legacy(4, 1) + bytes(BATCHES[0].view))
    found = list(scan_whole(reader(bytes(data)), 0, len(data)))
    batches = [check(header, view) for header, view in found]
    assert batches[:2] == [None, None]
    assert batches[2] is not None
    for header, view in found:
        broken = bytearray(view)
        broken[-1] ^= 1
        with pytest.raises(CorruptBatch, match="checksum"):
            check(header, memoryview(broken))


def test_batches_that_straddle_chunks_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (61, 100, 200, 8192):
        monkeypatch.setattr(batch_scan, "_WHOLE_CHUNK", chunk)
        found = [bytes(view) for _, view in scan_whole(reader(DATA), 0, len(DATA))]
        assert found == [bytes(batch.view) for batch in BATCHES]
