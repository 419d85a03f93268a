"""The compiled kernel does what its source does uncompiled, on any bytes."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol.records.errors import MalformedRecords
from protocol.records.record import Header, encode_record, encode_varint
from tests.support import kernels

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.one_of(st.integers(-3, 3), INT64)
SMALL_TIMES = st.one_of(st.integers(-70, 70), st.integers(-(2**62), 2**62))
BYTES = st.one_of(st.none(), st.binary(max_size=150))
HEADERS = st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3)
DELTAS = st.one_of(st.integers(0, 5), st.integers(-(2**31), 2**31 - 1))
RECORD = st.tuples(DELTAS, SMALL_TIMES, BYTES, BYTES, HEADERS)

Fields = tuple[int, int, bytes | None, bytes | None, list[Header]]

compiled = pytest.mark.skipif(
    not kernels.installed.COMPILED, reason="the kernel is not compiled: nothing to compare"
)


def outcome(function: Any, *arguments: Any) -> Any:
    """What it returned, or what it refused."""
    try:
        return function(*arguments)
    except MalformedRecords as error:
        return str(error)


def assert_alike(payload: bytes, count: int, base: int, bounds: tuple[int, int]) -> None:
    for check_keys in (False, True):
        assert outcome(
            kernels.installed.validate_records, payload, count, base, check_keys, *bounds
        ) == outcome(kernels.uncompiled.validate_records, payload, count, base, check_keys, *bounds)
    assert outcome(
        kernels.installed.first_at_or_after, payload, count, base, bounds[0], 0
    ) == outcome(kernels.uncompiled.first_at_or_after, payload, count, base, bounds[0], 0)
    for append_time in (None, 5):
        assert outcome(
            kernels.installed.decode_records, payload, 1 << 62, base, count, append_time
        ) == outcome(kernels.uncompiled.decode_records, payload, 1 << 62, base, count, append_time)


@compiled
@given(st.lists(RECORD, max_size=6), TIMES, st.tuples(TIMES, TIMES))
def test_records_are_read_alike(records: list[Fields], base: int, bounds: tuple[int, int]) -> None:
    payload = b"".join(encode_record(*record) for record in records)
    assert_alike(payload, len(records), base, bounds)


@compiled
@given(st.lists(RECORD, min_size=1, max_size=4), st.data())
def test_damaged_records_are_read_alike(records: list[Fields], data: st.DataObject) -> None:
    payload = bytearray(b"".join(encode_record(*record) for record in records))
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(payload), data.draw(st.integers(0, len(payload)))]))
    count = len(records) + data.draw(st.integers(-1, 1))
    assert_alike(bytes(payload[:cut]), count, 0, (-(2**63), 2**63 - 1))


@compiled
@given(st.binary(max_size=60), st.integers(-1, 4), TIMES)
@example(b"\xff" * 40, 2**31 - 1, 0)
def test_any_bytes_are_read_alike(body: bytes, count: int, base: int) -> None:
    assert_alike(body, count, base, (0, 5))
    assert_alike(encode_varint(len(body)) + body, count, base, (0, 5))


@pytest.mark.parametrize("kernel", kernels.both, ids=lambda kernel: kernel.__name__)
@given(records=st.lists(RECORD, max_size=6))
def test_the_scan_agrees_with_the_decoded_records(
    kernel: ModuleType, records: list[Fields]
) -> None:
    payload = b"".join(encode_record(*record) for record in records)
    decoded = kernel.decode_records(payload, 0, 0, len(records), None)
    assert [tuple(record) for record in decoded] == records
    scan = kernel.validate_records(payload, len(records), 0, True, -5, 5)
    times = [record.timestamp for record in decoded]
    assert scan.max_timestamp == max([-1, *times])
    if scan.max_timestamp > -1:
        first = times.index(scan.max_timestamp)
        assert scan.offset_of_max_timestamp == decoded[first].offset
    else:
        assert scan.offset_of_max_timestamp == -1
    assert scan.consecutive == ([r.offset for r in decoded] == [*range(len(decoded))])
    assert scan.errors == [
        (index, kernel.KEY_MISSING if record.key is None else kernel.TIMESTAMP_OUT_OF_RANGE)
        for index, record in enumerate(decoded)
        if record.key is None or (not -5 <= record.timestamp <= 5)
    ]


@pytest.mark.parametrize("kernel", kernels.both, ids=lambda kernel: kernel.__name__)
@given(records=st.lists(RECORD, max_size=6), time=SMALL_TIMES, delta=DELTAS)
def test_the_first_record_at_or_after_a_time_and_an_offset_is_found(
    kernel: ModuleType, records: list[Fields], time: int, delta: int
) -> None:
    payload = b"".join(encode_record(*record) for record in records)
    later = ((r[1], r[0]) for r in records if r[1] >= time and r[0] >= delta)
    assert kernel.first_at_or_after(payload, len(records), 0, time, delta) == next(later, None)
