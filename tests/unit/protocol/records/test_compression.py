"""Every codec reads what Kafka reads, refuses what it refuses, and never unfolds past a limit."""

import gzip
import itertools
import tracemalloc
import zlib

import cramjam
import lz4.frame
import pytest
import zstandard

from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import parse_batch
from protocol.records.compression import PIECE_SIZE, SNAPPY_BLOCK_SIZE, Codec, compress, decompress
from protocol.records.errors import CorruptBatch, DecompressedTooLarge
from tests.support import golden_batches

MEBIBYTE = 1 << 20
WORDS = b" ".join(b"%d" % (i * 7919 % 10007) for i in range(60_000))
XERIAL = bytes.fromhex("82534e41505059000000000100000001")
CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
every_codec = pytest.mark.parametrize("codec", CODECS)


def snappy_block(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return len(block).to_bytes(4, "big") + block


def bomb(codec: Codec, size: int) -> bytes:
    """Zeros, as small as the codec makes them."""
    if codec == Codec.SNAPPY:
        return bytes(cramjam.snappy.compress_raw(bytes(size)))
    return compress(codec, bytes(size))


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("size", [0, 1, 100, SNAPPY_BLOCK_SIZE, 65_537, len(WORDS)])
def test_what_is_compressed_comes_back(codec: Codec, size: int) -> None:
    data = WORDS[:size]
    assert decompress(codec, compress(codec, data), size) == data


@pytest.mark.parametrize("codec", Codec)
def test_any_buffer_is_taken(codec: Codec) -> None:
    packed = compress(codec, memoryview(WORDS))
    assert decompress(codec, memoryview(bytearray(b"x" + packed))[1:], len(WORDS)) == WORDS
    assert decompress(codec, bytearray(packed), len(WORDS)) == WORDS


@pytest.mark.parametrize("codec", Codec)
def test_one_byte_beyond_the_limit_is_too_much(codec: Codec) -> None:
    packed = compress(codec, WORDS)
    with pytest.raises(DecompressedTooLarge) as caught:
        decompress(codec, packed, len(WORDS) - 1)
    assert caught.value.limit == len(WORDS) - 1


@every_codec
def test_a_bomb_costs_no_more_than_the_limit(codec: Codec) -> None:
    packed = bomb(codec, 96 * MEBIBYTE)
    decompress(codec, compress(codec, b"warm"), 4)
    tracemalloc.start()
    try:
        with pytest.raises(DecompressedTooLarge):
            decompress(codec, packed, 4 * MEBIBYTE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 4 * MEBIBYTE + 3 * PIECE_SIZE + 2 * len(packed)


@every_codec
def test_data_cut_short_are_corrupt(codec: Codec) -> None:
    packed = compress(codec, WORDS[:3000])
    cuts = [cut for cut in range(len(packed)) if codec != Codec.SNAPPY or cut > len(XERIAL) + 3]
    for cut in cuts:
        with pytest.raises(CorruptBatch):
            decompress(codec, packed[:cut], MEBIBYTE)


@every_codec
def test_other_bytes_are_corrupt(codec: Codec) -> None:
    for data in (b"", b"\xff" * 40, b"PLAIN TEXT, NOT COMPRESSED AT ALL"):
        with pytest.raises(CorruptBatch) as caught:
            decompress(codec, data, MEBIBYTE)
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_codecs_that_do_not_exist_are_told_as_unsupported() -> None:
    with pytest.raises(KafkaError) as compressing:
        compress(5, b"")
    with pytest.raises(KafkaError) as decompressing:
        decompress(7, b"", 1)
    assert compressing.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert decompressing.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("topic", golden_batches.COMPRESSED)
def test_the_limit_counts_what_kafka_compressed(topic: str) -> None:
    for batch in golden_batches.batches(topic):
        size = len(batch.decompressed())
        assert len(batch.decompressed(size)) == size
        with pytest.raises(DecompressedTooLarge):
            batch.decompressed(size - 1)


def test_gzip_members_follow_each_other_and_garbage_after_them_is_ignored() -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"two")
    assert decompress(Codec.GZIP, members, 7) == b"one two"
    assert decompress(Codec.GZIP, members + b"garbage", 7) == b"one two"
    with pytest.raises(DecompressedTooLarge):
        decompress(Codec.GZIP, members, 6)


@pytest.mark.parametrize("size", [0, 1, 900])
def test_thousands_of_gzip_members_end_anywhere_in_the_pieces_they_are_read_in(size: int) -> None:
    members = [gzip.compress(b"%4d" % n * size, mtime=0) for n in range(5000)]
    expected = b"".join(gzip.decompress(member) for member in members)
    for garbage in (b"", b"\x1f", b"\x1f\x8b", b"garbage"):
        assert decompress(Codec.GZIP, b"".join(members) + garbage, 1 << 25) == expected
    with pytest.raises(CorruptBatch):
        decompress(Codec.GZIP, b"".join(members)[:-1], 1 << 25)


def test_gzip_checksums_are_verified() -> None:
    packed = bytearray(gzip.compress(WORDS))
    packed[-5] ^= 1
    with pytest.raises(CorruptBatch):
        decompress(Codec.GZIP, packed, MEBIBYTE)


def test_gzip_without_its_header_is_corrupt() -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.GZIP, zlib.compress(WORDS), MEBIBYTE)


def test_snappy_is_written_in_xerial_blocks() -> None:
    packed = compress(Codec.SNAPPY, WORDS[: SNAPPY_BLOCK_SIZE + 1])
    assert packed.startswith(XERIAL)
    last = snappy_block(WORDS[SNAPPY_BLOCK_SIZE : SNAPPY_BLOCK_SIZE + 1])
    assert packed == XERIAL + snappy_block(WORDS[:SNAPPY_BLOCK_SIZE]) + last


def test_snappy_without_framing_is_one_block() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(b"short")), 9) == b"short"
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(WORDS)), MEBIBYTE) == WORDS


def test_snappy_streams_may_follow_each_other() -> None:
    stream = XERIAL + snappy_block(b"one ")
    assert decompress(Codec.SNAPPY, stream + stream + b"\0\0\0", 8) == b"one one "
    assert decompress(Codec.SNAPPY, XERIAL, 0) == b""


@pytest.mark.parametrize(
    "tail",
    [b"\0\0\0\x09abc", b"\xff\xff\xff\xff", XERIAL[:9], b"\0\0\0\0", b"\0\0\0\x01\x05"],
)
def test_snappy_blocks_that_do_not_fit_are_corrupt(tail: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.SNAPPY, XERIAL + snappy_block(b"one ") + tail, MEBIBYTE)


def test_snappy_framing_of_no_version_is_corrupt() -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.SNAPPY, XERIAL[:8] + bytes(8) + snappy_block(b"one"), MEBIBYTE)


def test_snappy_blocks_claiming_more_than_the_limit_are_not_tried() -> None:
    claim = b"\xff\xff\xff\xff\x0f"
    with pytest.raises(DecompressedTooLarge):
        decompress(Codec.SNAPPY, claim + b"x", MEBIBYTE)
    with pytest.raises(CorruptBatch):
        decompress(Codec.SNAPPY, b"\x90\x4e" + b"\0x", MEBIBYTE)


def test_lz4_is_written_as_kafka_does() -> None:
    packed = compress(Codec.LZ4, WORDS)
    assert packed[:6] == bytes.fromhex("04224d186040")
    assert decompress(Codec.LZ4, packed + b"garbage", MEBIBYTE) == WORDS


@pytest.mark.parametrize("options", [*itertools.product((0, 4, 7), *[(False, True)] * 3)])
def test_lz4_frames_of_other_writers_are_read(options: tuple[int, bool, bool, bool]) -> None:
    block_size, content_checksum, block_checksum, store_size = options
    packed = lz4.frame.compress(
        WORDS,
        block_linked=False,
        block_size=block_size,
        content_checksum=content_checksum,
        block_checksum=block_checksum,
        store_size=store_size,
    )
    assert decompress(Codec.LZ4, packed, MEBIBYTE) == WORDS


def test_lz4_blocks_that_depend_on_each_other_are_refused_as_kafka_does() -> None:
    packed = lz4.frame.compress(WORDS, block_linked=True, block_size=4)
    with pytest.raises(CorruptBatch, match="cannot read"):
        decompress(Codec.LZ4, packed, MEBIBYTE)


def test_lz4_checksums_are_verified() -> None:
    packed = bytearray(lz4.frame.compress(WORDS, block_linked=False, content_checksum=True))
    packed[-1] ^= 1
    with pytest.raises(CorruptBatch):
        decompress(Codec.LZ4, packed, MEBIBYTE)


def zstd(data: bytes, *, write_checksum: bool = False, write_content_size: bool = True) -> bytes:
    return zstandard.ZstdCompressor(
        write_checksum=write_checksum, write_content_size=write_content_size
    ).compress(data)


def test_zstd_frames_follow_each_other() -> None:
    skippable = bytes.fromhex("522a4d18 03000000 ffffff")
    frames = zstd(b"one ") + skippable + zstd(b"two", write_checksum=True)
    assert decompress(Codec.ZSTD, frames, 7) == b"one two"
    with pytest.raises(DecompressedTooLarge):
        decompress(Codec.ZSTD, frames, 6)


@pytest.mark.parametrize("size", [0, 5, 300, 200_000, len(WORDS)])
@pytest.mark.parametrize("checksum", [False, True])
def test_zstd_frames_need_no_content_size(size: int, checksum: bool) -> None:
    packed = zstd(WORDS[:size], write_content_size=False, write_checksum=checksum)
    assert decompress(Codec.ZSTD, packed, size) == WORDS[:size]


@pytest.mark.parametrize(
    "tail",
    [
        b"x",
        b"garbage",
        bytes.fromhex("522a4d18 04000000 ffffff"),
        bytes.fromhex("522a4d18 0400"),
        bytes.fromhex("28b52ffd"),
        bytes.fromhex("28b52ffd 00 58 07"),
        bytes.fromhex("28b52ffd 00 58 070000"),
    ],
)
def test_zstd_frames_end_with_the_data(tail: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.ZSTD, zstd(b"one") + tail, MEBIBYTE)


def test_zstd_checksums_are_verified() -> None:
    packed = bytearray(zstd(WORDS, write_checksum=True))
    packed[-1] ^= 1
    with pytest.raises(CorruptBatch):
        decompress(Codec.ZSTD, packed, MEBIBYTE)


@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        (Codec.GZIP, (None, -1, 1, 9)),
        (Codec.SNAPPY, (None, 3)),
        (Codec.LZ4, (None, 1, 9, 12, 17)),
        (Codec.ZSTD, (None, -131072, 1, 22)),
    ],
)
def test_kafkas_levels_are_taken(codec: Codec, levels: tuple[int | None, ...]) -> None:
    for level in levels:
        assert decompress(codec, compress(codec, WORDS, level), len(WORDS)) == WORDS


def test_kafkas_default_level_of_lz4_is_its_fast_compressor() -> None:
    assert compress(Codec.LZ4, WORDS, 9) == compress(Codec.LZ4, WORDS)
    assert len(compress(Codec.LZ4, WORDS, 8)) < len(compress(Codec.LZ4, WORDS, 9))


def test_nothing_is_copied_where_no_codec_is_used() -> None:
    batch = golden_batches.batches("g-none")[0]
    payload = batch.decompressed()
    assert isinstance(payload, memoryview)
    assert payload.obj is parse_batch(batch.view).payload().obj
