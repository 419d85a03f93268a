"""The walk takes well-formed records only, and tells a leader what it must know of them."""

from types import ModuleType

import pytest

from protocol.records.batch import parse_batch
from protocol.records.builder import build_batch
from protocol.records.errors import MalformedRecords
from protocol.records.record import Record, RecordScan, encode_record, encode_varint
from tests.support import kernels

SMALLEST, LARGEST = -(2**63), 2**63 - 1
TIME = 1_700_000_000_000
ALL_TIMES = (SMALLEST, LARGEST)

pytestmark = pytest.mark.parametrize("kernel", kernels.both, ids=lambda kernel: kernel.__name__)


def payload_of(records: list[Record], base: int = TIME) -> bytes:
    return b"".join(
        encode_record(index, record.timestamp - base, record.key, record.value, record.headers)
        for index, record in enumerate(records)
    )


def at(*timestamps: int, key: bytes | None = b"k") -> list[Record]:
    return [Record(i, timestamp, key, b"v", []) for i, timestamp in enumerate(timestamps)]


def validate(
    kernel: ModuleType,
    payload: bytes,
    count: int,
    base: int = TIME,
    check_keys: bool = False,
    times: tuple[int, int] = ALL_TIMES,
) -> RecordScan:
    scan = kernel.validate_records(payload, count, base, check_keys, *times)
    assert isinstance(scan, RecordScan)
    return scan


def assert_malformed(kernel: ModuleType, payload: bytes, count: int = 1, base: int = 0) -> None:
    with pytest.raises(MalformedRecords):
        kernel.validate_records(payload, count, base, False, *ALL_TIMES)
    with pytest.raises(MalformedRecords):
        kernel.decode_records(payload, 0, base, count, None)


def body(data: bytes) -> bytes:
    return encode_varint(len(data)) + data


def test_the_first_of_the_greatest_timestamps_is_told(kernel: ModuleType) -> None:
    payload = payload_of(at(TIME, TIME + 9, TIME + 3, TIME + 9))
    assert validate(kernel, payload, 4) == RecordScan(TIME + 9, 1, True, [])


def test_records_without_time_have_no_greatest(kernel: ModuleType) -> None:
    assert validate(kernel, payload_of(at(-1, -1)), 2) == RecordScan(-1, -1, True, [])
    assert validate(kernel, b"", 0) == RecordScan(-1, -1, True, [])


def test_offsets_that_are_not_consecutive_are_told(kernel: ModuleType) -> None:
    for deltas in ((1, 2), (0, 2), (1, 0), (0, -1)):
        payload = b"".join(encode_record(delta, delta, b"k", b"v") for delta in deltas)
        scan = validate(kernel, payload, 2)
        assert not scan.consecutive
        assert scan.offset_of_max_timestamp == max(deltas)


def test_keys_are_missed_only_where_they_are_checked(kernel: ModuleType) -> None:
    payload = payload_of(at(TIME, key=None) + at(TIME, key=b""))
    assert validate(kernel, payload, 2).errors == []
    assert validate(kernel, payload, 2, check_keys=True).errors == [(0, kernel.KEY_MISSING)]


def test_timestamps_must_lie_within_inclusive_bounds_or_be_none(kernel: ModuleType) -> None:
    payload = payload_of(at(TIME - 1, TIME, TIME + 5, TIME + 6, -1, -2))
    errors = validate(kernel, payload, 6, times=(TIME, TIME + 5)).errors
    assert errors == [(index, kernel.TIMESTAMP_OUT_OF_RANGE) for index in (0, 3, 5)]


def test_a_record_has_one_error_and_the_key_comes_first(kernel: ModuleType) -> None:
    payload = payload_of(at(TIME, key=None))
    errors = validate(kernel, payload, 1, check_keys=True, times=(0, 1)).errors
    assert errors == [(0, kernel.KEY_MISSING)]


def test_errors_are_bounded_but_a_wrong_timestamp_is_always_told(kernel: ModuleType) -> None:
    records = at(*[TIME] * 150, key=None) + at(TIME + 1, TIME + 1)
    scan = validate(kernel, payload_of(records), 152, check_keys=True, times=(0, TIME))
    assert scan.errors[: kernel.MAX_ERRORS] == [
        (index, kernel.KEY_MISSING) for index in range(kernel.MAX_ERRORS)
    ]
    assert scan.errors[kernel.MAX_ERRORS :] == [(150, kernel.TIMESTAMP_OUT_OF_RANGE)]


def test_varints_of_every_length_are_read(kernel: ModuleType) -> None:
    deltas = [sign * (1 << bits) for bits in range(62) for sign in (1, -1)]
    payload = b"".join(
        encode_record(max(-(2**31), min(2**31 - 1, delta)), delta, b"k" * abs(bits), None)
        for bits, delta in enumerate(deltas)
    )
    decoded = kernel.decode_records(payload, 0, 0, len(deltas), None)
    assert [record.timestamp for record in decoded] == deltas
    assert [record.offset for record in decoded] == [
        max(-(2**31), min(2**31 - 1, delta)) for delta in deltas
    ]


def test_timestamps_reach_the_ends_of_64_bits_and_not_beyond(kernel: ModuleType) -> None:
    for base, delta in ((LARGEST, 0), (0, LARGEST), (SMALLEST, 0), (SMALLEST, LARGEST), (-1, 1)):
        payload = encode_record(0, delta, None, None)
        assert kernel.decode_records(payload, 0, base, 1, None)[0].timestamp == base + delta
    for base, delta in ((LARGEST, 1), (1, LARGEST), (SMALLEST, -1), (-1, SMALLEST)):
        assert_malformed(kernel, encode_record(0, delta, None, None), base=base)


def test_bits_beyond_a_varints_type_are_dropped_as_java_does(kernel: ModuleType) -> None:
    offset = bytes.fromhex("feffffff7f")
    payload = body(b"\0\0" + offset + b"\1\1\0")
    assert kernel.decode_records(payload, 0, 0, 1, None)[0].offset == 2**31 - 1
    timestamp = bytes.fromhex("feffffffffffffffff7f")
    payload = body(b"\0" + timestamp + b"\0\1\1\0")
    assert kernel.decode_records(payload, 0, 0, 1, None)[0].timestamp == LARGEST


def test_records_decode_with_nulls_empties_and_headers(kernel: ModuleType) -> None:
    records = [
        Record(5, TIME, None, None, []),
        Record(6, TIME - 3, b"", b"", [("", None), ("é", b""), ("é", b"\xff")]),
        Record(7, TIME + 70_000, b"k" * 100, b"v" * 70_000, [("h" * 200, b"x" * 300)]),
    ]
    assert kernel.decode_records(payload_of(records), 5, TIME, 3, None) == records


def test_decoded_records_own_their_bytes(kernel: ModuleType) -> None:
    payload = bytearray(payload_of(at(TIME)))
    records = kernel.decode_records(memoryview(payload), 0, TIME, 1, None)
    payload[:] = bytes(len(payload))
    payload.clear()
    assert records == at(TIME)
    assert type(records[0]) is Record


def test_log_append_time_replaces_the_records_own(kernel: ModuleType) -> None:
    records = kernel.decode_records(payload_of(at(TIME, TIME + 1)), 0, TIME, 2, 77)
    assert [record.timestamp for record in records] == [77, 77]


def test_header_names_that_are_not_utf8_are_still_read(kernel: ModuleType) -> None:
    payload = body(b"\0\0\0\1\1" + b"\2" + b"\2\xff" + b"\1")
    assert kernel.decode_records(payload, 0, 0, 1, None)[0].headers == [("\ufffd", None)]


def test_the_records_declared_must_fill_the_payload(kernel: ModuleType) -> None:
    payload = payload_of(at(0, 1, 2), base=0)
    for count in (-1, 0, 2, 4, 2**31 - 1):
        assert_malformed(kernel, payload, count)
    assert_malformed(kernel, payload + b"\0", 3)
    assert_malformed(kernel, b"", -1)
    assert_malformed(kernel, b"", 1)


def test_a_payload_cut_anywhere_is_malformed(kernel: ModuleType) -> None:
    payload = encode_record(0, 1 << 40, b"key", b"v" * 200, [("name", b"x"), ("n", None)])
    for cut in range(len(payload)):
        assert_malformed(kernel, payload[:cut])


@pytest.mark.parametrize(
    "record",
    [
        b"\0",
        b"\1",
        b"\xff" * 5,
        b"\xff\xff\xff\xff\x0f" + bytes(20),
        b"\xfe\xff\xff\xff\x0f" + bytes(20),
        body(b""),
        body(b"\0"),
        body(b"\0\0\0\1\1"),
        body(b"\0\0\0\1\1\0\0"),
        body(b"\0\0\0\3\1\0"),
        body(b"\0\0\0\1\3\0"),
        body(b"\0\0\0\1\1\1"),
        body(b"\0\0\0\1\1\2\1\1"),
        body(b"\0\0\0\1\1\2\0\3"),
        body(b"\0\0\0\1\1\2\0"),
        body(b"\0\0\0\x08k\1\0"),
        body(b"\0\0\0\1\1\xfe\xff\xff\xff\x0f\0\0"),
        body(b"\0\0\0\xfe\xff\xff\xff\x0f\0\0"),
        body(b"\0\0" + b"\xff" * 5 + b"\1\1\0"),
        body(b"\0" + b"\xff" * 10 + b"\0\1\1\0"),
    ],
    ids=lambda record: record.hex(),
)
def test_records_that_break_the_format_are_malformed(kernel: ModuleType, record: bytes) -> None:
    assert_malformed(kernel, record + b"\0\0\0\1\1\0" * 3)
    assert_malformed(kernel, record)


def test_lengths_never_reach_into_the_next_record(kernel: ModuleType) -> None:
    payload = body(b"\0\0\0\x04k") + encode_record(1, 0, b"k", b"v")
    assert_malformed(kernel, payload, 2)


def test_both_read_a_whole_batch_alike(kernel: ModuleType) -> None:
    batch = parse_batch(build_batch(at(*range(TIME, TIME + 500))))
    decoded = kernel.decode_records(batch.payload(), 0, TIME, 500, None)
    assert decoded == batch.records()


def test_other_buffers_than_bytes_are_refused(kernel: ModuleType) -> None:
    with pytest.raises((TypeError, ValueError)):
        kernel.validate_records("text", 1, 0, False, 0, 0)
