"""Whatever is built reads back equal, and whatever is damaged fails in a known way."""

from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import KafkaError
from protocol.records.batch import iterate_batches, parse_batch, peek_header
from protocol.records.builder import BatchFields, build_batch
from protocol.records.compression import Codec, compress, decompress
from protocol.records.errors import CorruptBatch, DecompressedTooLarge
from protocol.records.record import Record

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TIMES = st.integers(-1, 2**62)
BYTES = st.one_of(st.none(), st.binary(max_size=300))
HEADERS = st.lists(st.tuples(st.text(max_size=8), BYTES), max_size=4)
RECORDS = st.lists(st.builds(Record, st.just(0), TIMES, BYTES, BYTES, HEADERS), max_size=12)
LIMIT = 1 << 20

fields = st.fixed_dictionaries(
    {
        "base_offset": st.integers(0, 2**62),
        "leader_epoch": INT32,
        "producer_id": st.integers(-1, 2**63 - 1),
        "producer_epoch": INT16,
        "base_sequence": INT32,
        "is_transactional": st.booleans(),
        "is_control": st.booleans(),
        "log_append_time": st.none() | TIMES,
    }
)


def placed(records: list[Record], header: BatchFields) -> list[Record]:
    """The records as the log shows them."""
    append_time = header.get("log_append_time")
    return [
        record._replace(
            offset=header["base_offset"] + index,
            timestamp=record.timestamp if append_time is None else append_time,
        )
        for index, record in enumerate(records)
    ]


@given(RECORDS, fields, st.sampled_from(Codec))
def test_what_is_built_reads_back_equal(
    records: list[Record], header: BatchFields, codec: Codec
) -> None:
    batch = parse_batch(build_batch(records, codec=codec, **header))
    assert batch.crc_ok()
    assert batch.records() == placed(records, header)
    assert batch.next_offset == header["base_offset"] + len(records)
    for name in ("base_offset", "leader_epoch", "producer_id", "producer_epoch", "base_sequence"):
        assert getattr(batch, name) == header[name]
    assert batch.is_transactional == header["is_transactional"]
    assert batch.is_control == header["is_control"]
    assert batch.is_log_append_time == (header["log_append_time"] is not None)


@given(RECORDS, fields, INT32, st.integers(0, 2**62), st.booleans(), TIMES)
def test_patched_in_place_is_as_if_built_so(
    records: list[Record],
    header: BatchFields,
    epoch: int,
    offset: int,
    append_time: bool,
    timestamp: int,
) -> None:
    data = build_batch(records, **header)
    batch = parse_batch(data)
    batch.assign(offset, epoch)
    batch.set_timestamps(append_time, timestamp)
    again = parse_batch(bytes(data))
    assert again.crc_ok()
    for name in type(batch).__slots__:
        assert getattr(batch, name) == getattr(again, name)
    assert (again.base_offset, again.leader_epoch) == (offset, epoch)
    assert (again.max_timestamp, again.is_log_append_time) == (timestamp, append_time)


@given(st.lists(RECORDS, max_size=4), st.binary(max_size=16))
def test_batches_follow_each_other_to_a_torn_end(lists: list[list[Record]], tail: bytes) -> None:
    built = [bytes(build_batch(records, last_offset_delta=20)) for records in lists]
    assert [bytes(batch.view) for batch in iterate_batches(b"".join(built) + tail)] == built


@given(st.binary(max_size=200))
def test_any_bytes_are_a_batch_or_corrupt(data: bytes) -> None:
    for read in (parse_batch, peek_header, lambda data: list(iterate_batches(data))):
        try:
            read(data)
        except CorruptBatch:
            pass


@given(RECORDS, st.sampled_from(Codec), st.data())
def test_a_changed_batch_fails_in_a_known_way(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    """As if the checksum had been made to fit: nothing but the errors of this package."""
    batch = build_batch(records, codec=codec)
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse_batch(batch).records(LIMIT)
    except KafkaError:
        pass


@given(st.sampled_from(Codec), st.binary(max_size=3000), st.integers(0, 100_000))
def test_the_limit_is_exact(codec: Codec, seed: bytes, size: int) -> None:
    data = (seed * (size // (len(seed) or 1) + 1))[:size]
    packed = compress(codec, data)
    assert decompress(codec, packed, len(data)) == data
    if data:
        try:
            decompress(codec, packed, len(data) - 1)
        except DecompressedTooLarge:
            return
        raise AssertionError("one byte more than the limit came out")


@given(st.sampled_from(Codec), st.binary(max_size=400), st.binary(max_size=400), st.data())
def test_decompression_of_anything_fails_in_a_known_way(
    codec: Codec, seed: bytes, inserted: bytes, data: st.DataObject
) -> None:
    packed = compress(codec, seed * 3)
    cut = data.draw(st.integers(0, len(packed)))
    again = data.draw(st.integers(0, len(packed)))
    for candidate in (packed[:cut] + inserted + packed[again:], inserted):
        try:
            assert len(decompress(codec, candidate, LIMIT)) <= LIMIT
        except (CorruptBatch, DecompressedTooLarge):
            pass
