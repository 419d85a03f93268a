"""The map of keys and the filter of records, compiled and not."""

from types import ModuleType

import pytest

from protocol.records.errors import MalformedRecords
from protocol.records.record import encode_record
from tests.support.kernels import both_compactions

SECRET = bytes(range(16))
FAR = 1 << 60

forms = pytest.mark.parametrize("form", both_compactions, ids=lambda form: form.__name__)


def payload(*pairs: tuple[bytes | None, bytes | None], timestamp: int = 0) -> bytes:
    return b"".join(
        encode_record(index, timestamp + index, key, value)
        for index, (key, value) in enumerate(pairs)
    )


@forms
@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (2, "8177228da4a45dc7fca38bdef60affe4"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"),
    ],
)
def test_keys_are_hashed_as_siphash_says(form: ModuleType, size: int, expected: str) -> None:
    """Vectors of the reference implementation: key and message are the bytes 0, 1, 2 …"""
    found = form.OffsetMap(4, 2, SECRET).hash_of(bytes(range(size)))
    assert found.hex() == expected


@forms
def test_another_secret_hashes_otherwise(form: ModuleType) -> None:
    first, second = form.OffsetMap(4, 2, SECRET), form.OffsetMap(4, 2, bytes(16))
    assert first.hash_of(b"key") != second.hash_of(b"key")


@forms
def test_a_key_has_its_last_offset(form: ModuleType) -> None:
    offsets = form.OffsetMap(100, 90, SECRET)
    assert offsets.get(b"a") == form.ABSENT
    assert offsets.put(b"a", 0)
    assert offsets.put(b"b", 7)
    assert offsets.put(b"a", 9)
    assert (offsets.get(b"a"), offsets.get(b"b"), len(offsets)) == (9, 7, 2)
    assert offsets.utilization == 0.02


@forms
def test_a_map_takes_no_more_keys_than_it_may(form: ModuleType) -> None:
    offsets = form.OffsetMap(10, 9, SECRET)
    assert all(offsets.put(b"%d" % n, n) for n in range(9))
    assert offsets.is_full
    assert not offsets.put(b"3", 100)
    assert [offsets.get(b"%d" % n) for n in range(10)] == [*range(9), form.ABSENT]


def test_a_key_takes_24_bytes() -> None:
    """At the default load factor of 0.9 that is less than 28 bytes a key."""
    form = both_compactions[-1]
    assert form.SLOT_BYTES / 0.9 < 28


@forms
def test_records_without_a_key_or_before_the_start_are_not_mapped(form: ModuleType) -> None:
    offsets = form.OffsetMap(100, 90, SECRET)
    data = payload((b"a", b"1"), (None, b"2"), (b"", b"3"), (b"b", None))
    assert offsets.add_records(data, 4, 10, 11)
    assert (offsets.get(b"a"), offsets.get(b""), offsets.get(b"b")) == (-1, 12, 13)


@forms
def test_a_full_map_says_so(form: ModuleType) -> None:
    offsets = form.OffsetMap(3, 2, SECRET)
    data = payload((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    assert not offsets.add_records(data, 3, 0, 0)
    assert offsets.add_records(data, 2, 0, 1) is False
    assert offsets.get(b"a") == 0


@forms
def test_the_last_record_of_each_key_stays(form: ModuleType) -> None:
    offsets = form.OffsetMap(100, 90, SECRET)
    data = payload((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (None, b"4"), (b"c", None))
    offsets.add_records(data, 5, 0, 0)
    kept = offsets.select(data, 5, 0, 1000, FAR, False)
    assert kept == (3, True, 1001, 1004, bytearray([0, 1, 1, 0, 1]))
    kept = offsets.select(data, 5, 0, 1000, FAR, True)
    assert kept == (2, False, 1001, 1002, bytearray([0, 1, 1, 0, 0]))


@forms
def test_beyond_the_end_of_the_map_everything_stays(form: ModuleType) -> None:
    offsets = form.OffsetMap(100, 90, SECRET)
    data = payload((b"a", b"1"), (None, b"2"), (b"a", None))
    offsets.add_records(data, 3, 0, 0)
    assert offsets.select(data, 3, 0, 0, 1, True).flags == bytearray([0, 1, 1])


@forms
def test_a_key_the_map_does_not_have_stays(form: ModuleType) -> None:
    offsets = form.OffsetMap(100, 90, SECRET)
    assert offsets.select(payload((b"a", b"1")), 1, 0, 0, FAR, False).kept == 1


@forms
@pytest.mark.parametrize("shift", [0, -1, 63, 64, -64, -65, 1 << 40, -(1 << 40)])
def test_copied_records_keep_everything_but_the_timestamp_delta(
    form: ModuleType, shift: int
) -> None:
    headers: list[tuple[str, bytes | None]] = [("h", None), ("é", b"x" * 200)]
    records = [
        (0, 5, b"k" * 70, b"v" * 9000, headers),
        (3, 9, None, None, []),
        (4, 0, b"", b"", []),
    ]
    data = b"".join(encode_record(*record) for record in records)
    wanted = b"".join(
        encode_record(offset, timestamp + shift, key, value, more)
        for offset, timestamp, key, value, more in (records[0], records[2])
    )
    assert form.copy_records(data, bytearray([1, 0, 1]), shift, False) == wanted


@forms
def test_records_of_one_time_get_one_delta(form: ModuleType) -> None:
    data = payload((b"a", b"1"), (b"b", b"2"), timestamp=77)
    assert form.copy_records(data, bytearray([1, 1]), -3, True) == encode_record(
        0, -3, b"a", b"1"
    ) + encode_record(1, -3, b"b", b"2")


@forms
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x7f\x00\x00\x00",
        b"\xff" * 30,
        encode_record(0, 0, b"key", b"value")[:-1],
        b"\x08\x00\x00\x00\x7f\x01",
        b"\x08\x00\x00\x00\x05\x01",
    ],
)
def test_malformed_records_are_told(form: ModuleType, data: bytes) -> None:
    offsets = form.OffsetMap(100, 90, SECRET)
    with pytest.raises(MalformedRecords):
        offsets.add_records(data, 1, 0, 0)
    with pytest.raises(MalformedRecords):
        offsets.select(data, 1, 0, 0, FAR, False)
    with pytest.raises(MalformedRecords):
        form.copy_records(data, bytearray([1]), 0, False)


@forms
def test_more_records_than_bytes_are_refused_before_any_memory_is_taken(form: ModuleType) -> None:
    with pytest.raises(MalformedRecords):
        form.OffsetMap(100, 90, SECRET).select(b"abc", 2**31 - 1, 0, 0, FAR, False)
    with pytest.raises(MalformedRecords):
        form.OffsetMap(100, 90, SECRET).add_records(b"abc", -1, 0, 0)
