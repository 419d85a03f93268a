"""The compiled form of compaction does what its source does, and both what a dictionary would."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.records.errors import MalformedRecords
from protocol.records.record import Header, encode_record
from tests.support.kernels import both_compactions, installed_compaction, uncompiled_compaction

SECRET = bytes(range(16))
KEYS = st.one_of(st.none(), st.sampled_from([b"", b"a", b"b", b"c" * 8, b"d" * 9]), st.binary())
VALUES = st.one_of(st.none(), st.binary(max_size=130))
HEADERS = st.lists(st.tuples(st.text(max_size=3), VALUES), max_size=2)
TIMES = st.one_of(st.integers(-70, 70), st.integers(-(2**61), 2**61))
RECORD = st.tuples(TIMES, KEYS, VALUES, HEADERS)
Fields = tuple[int, bytes | None, bytes | None, list[Header]]

compiled = pytest.mark.skipif(
    not installed_compaction.COMPILED, reason="not compiled: nothing to compare"
)
forms = pytest.mark.parametrize("form", both_compactions, ids=lambda form: form.__name__)


def encoded(records: list[Fields]) -> bytes:
    return b"".join(encode_record(index, *record) for index, record in enumerate(records))


@forms
@given(st.lists(RECORD, max_size=30), st.integers(0, 40), st.booleans())
def test_what_stays_is_what_a_dictionary_says(
    form: ModuleType, records: list[Fields], end_offset: int, drop_tombstones: bool
) -> None:
    data, count = encoded(records), len(records)
    offsets = form.OffsetMap(100, 90, SECRET)
    assert offsets.add_records(data, count, 0, 0)
    last = {key: offset for offset, (_, key, _, _) in enumerate(records) if key is not None}
    flags = bytearray(
        offset >= end_offset
        or (key is not None and last[key] == offset and not (value is None and drop_tombstones))
        for offset, (_, key, value, _) in enumerate(records)
    )
    kept = offsets.select(data, count, 0, 5, end_offset, drop_tombstones)
    assert kept.flags == flags
    times = [5 + one[0] for one, flag in zip(records, flags, strict=True) if flag]
    assert (kept.kept, kept.first_timestamp) == (len(times), times[0] if times else -1)
    assert kept.max_timestamp == max([-1, *times])
    wanted = [
        encode_record(offset, time - 3, key, value, headers)
        for offset, (time, key, value, headers) in enumerate(records)
        if flags[offset]
    ]
    assert form.copy_records(data, flags, -3, False) == b"".join(wanted)


@compiled
@given(st.lists(RECORD, max_size=8), st.data())
def test_damaged_records_are_treated_alike(records: list[Fields], data: st.DataObject) -> None:
    payload = bytearray(encoded(records))
    for _ in range(data.draw(st.integers(0, 3))):
        if payload:
            at = data.draw(st.integers(0, len(payload) - 1))
            payload[at] = data.draw(st.integers(0, 255))
    count = data.draw(st.integers(-1, len(records) + 2))

    def outcome(form: ModuleType) -> list[Any]:
        offsets = form.OffsetMap(100, 50, SECRET)
        found: list[Any] = []
        try:
            found.append(offsets.add_records(bytes(payload), count, 3, 4))
            found.append(tuple(offsets.select(bytes(payload), count, 3, 0, 1 << 40, True))[0:2])
            flags = offsets.select(bytes(payload), count, 3, 0, 1 << 40, False).flags
            found.append((flags, form.copy_records(bytes(payload), flags, 0, True)))
        except MalformedRecords as error:
            found.append(str(error))
        return found

    assert outcome(installed_compaction) == outcome(uncompiled_compaction)


@compiled
@given(st.binary(), st.binary(min_size=16, max_size=16))
def test_keys_hash_alike(key: bytes, secret: bytes) -> None:
    one, other = (form.OffsetMap(4, 2, secret) for form in both_compactions)
    assert one.hash_of(key) == other.hash_of(key)
