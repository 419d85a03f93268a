"""The codecs of record batches, with Kafka's framing and a bound on what they may unfold to.

Decompression goes piece by piece: it never holds more than the limit, a copy of the input and
one piece, whatever the input claims, and fails with CorruptBatch or DecompressedTooLarge only.

```text
gzip    RFC 1952, members may follow each other; what follows the last one is ignored
snappy  82 'SNAPPY' 00, i32 version, i32 lowest compatible version, then for each block of 32 KiB:
        i32 length, raw snappy (xerial; the length 82 'SNA' is another header). Without this
        header the whole is one raw snappy block
lz4     one LZ4 frame, blocks independent, 64 KiB each as written; what follows it is ignored
zstd    frames following each other to the end
```
Source: KIP-110, KIP-390, `Lz4BlockInputStream.java`, snappy-java's `SnappyInputStream`. Libraries
are imported with the first batch that needs them.
"""

import enum
from collections.abc import Callable
from struct import Struct

from protocol.errors import ErrorCode, KafkaError
from protocol.records.errors import CorruptBatch, DecompressedTooLarge

PIECE_SIZE = 1 << 20
SMALLEST_PIECE_SIZE = 1 << 12
KAFKA_LZ4_DEFAULT_LEVEL = 9
SNAPPY_BLOCK_SIZE = 32 * 1024

_SNAPPY_MAGIC = b"\x82SNAPPY\0"
_SNAPPY_HEADER = Struct(">8sii")
_SNAPPY_LENGTH = Struct(">i")
_SNAPPY_VERSION = 1
_SNAPPY_ANOTHER_HEADER = int.from_bytes(_SNAPPY_MAGIC[:4], "big", signed=True)
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_WINDOW_BITS = 31
_GZIP_INPUT_SIZE = 16 * 1024
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_FLAGS_POSITION = 4
_LZ4_INDEPENDENT_BLOCKS = 0x20
_LZ4_UNREADABLE = _LZ4_INDEPENDENT_BLOCKS | 0x03  # dependent blocks, dictionaries, reserved bits
_LZ4_LARGEST_LEVEL = 12
_LZ4_SMALLEST_HIGH_LEVEL = 3
_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE_MAGIC = 0x184D2A50
_ZSTD_RLE, _ZSTD_RESERVED = 1, 3

Buffer = bytes | bytearray | memoryview


class Codec(enum.IntEnum):
    """Codecs by their number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class _Output:
    """Collects decompressed pieces; raises as soon as they outgrow the limit."""

    __slots__ = ("_first", "_joined", "_piece_size", "limit", "size")

    def __init__(self, limit: int, input_size: int) -> None:
        self.limit = limit
        self.size = 0
        self._piece_size = min(PIECE_SIZE, max(SMALLEST_PIECE_SIZE, 16 * input_size))
        self._first: bytes | bytearray | None = None
        self._joined: bytearray | None = None

    def next_piece_size(self) -> int:
        """How much to ask for: one byte beyond the limit shows that it is exceeded."""
        return min(self._piece_size, self.limit - self.size + 1)

    def add(self, piece: bytes | bytearray) -> None:
        """Append a piece, which the caller does not touch again."""
        self.size += len(piece)
        if self.size > self.limit:
            raise DecompressedTooLarge(self.limit)
        if self._joined is not None:
            self._joined += piece
        elif self._first:
            self._joined = bytearray(self._first)
            self._joined += piece
            self._first = None
        else:
            self._first = piece

    def result(self) -> bytes | bytearray:
        """Everything added; a single piece as it came."""
        return self._first or b"" if self._joined is None else self._joined


def _decompress_gzip(data: Buffer, output: _Output) -> None:
    import zlib

    view = memoryview(data)
    position = 0
    try:
        while True:
            member = zlib.decompressobj(_GZIP_WINDOW_BITS)
            while not member.eof:
                # Piece by piece: zlib copies what it was given and did not use, each time.
                pending: Buffer = view[position : position + _GZIP_INPUT_SIZE]
                position += len(pending)
                if not pending:
                    raise CorruptBatch("gzip data ends early")
                while pending and not member.eof:
                    output.add(member.decompress(pending, output.next_piece_size()))
                    pending = member.unconsumed_tail
            position -= len(member.unused_data)
            if view[position : position + len(_GZIP_MAGIC)] != _GZIP_MAGIC:
                return
    except zlib.error as error:
        raise CorruptBatch(f"gzip: {error}") from None


def _decompress_snappy_block(block: memoryview, output: _Output) -> None:
    from cramjam import DecompressionError, snappy

    try:
        size = snappy.decompress_raw_len(block)
        if size > output.limit - output.size:
            raise DecompressedTooLarge(output.limit)
        piece = bytearray(size)
        snappy.decompress_raw_into(block, piece)
    except DecompressionError as error:
        raise CorruptBatch(str(error)) from None
    output.add(piece)


def _decompress_snappy(data: Buffer, output: _Output) -> None:
    view = memoryview(data)
    if len(view) < _SNAPPY_HEADER.size or view[: len(_SNAPPY_MAGIC)] != _SNAPPY_MAGIC:
        if not view:
            raise CorruptBatch("snappy data is empty")
        _decompress_snappy_block(view, output)
        return
    if _SNAPPY_HEADER.unpack_from(view)[1] < _SNAPPY_VERSION:
        raise CorruptBatch("snappy framing of an unknown version")
    position = _SNAPPY_HEADER.size
    while len(view) - position >= _SNAPPY_LENGTH.size:
        (length,) = _SNAPPY_LENGTH.unpack_from(view, position)
        if length == _SNAPPY_ANOTHER_HEADER:
            position += _SNAPPY_HEADER.size
            if position > len(view):
                raise CorruptBatch("snappy data ends within a header")
            continue
        position += _SNAPPY_LENGTH.size
        if not 0 <= length <= len(view) - position:
            raise CorruptBatch(f"snappy block of {length} bytes does not fit")
        _decompress_snappy_block(view[position : position + length], output)
        position += length


def _decompress_lz4(data: Buffer, output: _Output) -> None:
    from lz4.frame import LZ4FrameDecompressor

    if data[:4] != _LZ4_MAGIC or len(data) <= _LZ4_FLAGS_POSITION:
        raise CorruptBatch("no lz4 frame")
    if data[_LZ4_FLAGS_POSITION] & _LZ4_UNREADABLE != _LZ4_INDEPENDENT_BLOCKS:
        raise CorruptBatch("lz4 frame of a kind that Kafka's clients cannot read")
    decompressor = LZ4FrameDecompressor()
    pending: Buffer = data
    try:
        while not decompressor.eof:
            piece = decompressor.decompress(pending, max_length=output.next_piece_size())
            if not piece and not decompressor.eof:
                raise CorruptBatch("lz4 frame ends early")
            output.add(piece)
            pending = b""
    except RuntimeError as error:
        raise CorruptBatch(f"lz4: {error}") from None


def _zstd_frame_end(view: memoryview, position: int) -> int:
    """Where the frame at a position ends by its block headers; raises CorruptBatch if it does not.

    Readers of streams take the end of the input for the end of a frame; this tells them apart.
    """
    from zstandard import ZstdError, frame_header_size, get_frame_parameters

    magic = int.from_bytes(view[position : position + 4], "little")
    if magic & ~0xF == _ZSTD_SKIPPABLE_MAGIC:
        end = position + 8 + int.from_bytes(view[position + 4 : position + 8], "little")
        if len(view) - position < 8 or end > len(view):
            raise CorruptBatch("zstd skippable frame ends early")
        return end
    if magic != _ZSTD_MAGIC:
        raise CorruptBatch("no zstd frame where one should begin")
    try:
        head = view[position : position + 18]
        has_checksum = get_frame_parameters(head).has_checksum
        position += frame_header_size(head)
    except (ZstdError, ValueError) as error:
        raise CorruptBatch(f"zstd: {error}") from None
    last = False
    while not last:
        if len(view) - position < 3:
            raise CorruptBatch("zstd frame ends early")
        header = int.from_bytes(view[position : position + 3], "little")
        last, kind = bool(header & 1), header >> 1 & 3
        if kind == _ZSTD_RESERVED:
            raise CorruptBatch("zstd block of a reserved kind")
        position += 3 + (1 if kind == _ZSTD_RLE else header >> 3)
    position += 4 if has_checksum else 0
    if position > len(view):
        raise CorruptBatch("zstd frame ends early")
    return position


def _decompress_zstd(data: Buffer, output: _Output) -> None:
    from zstandard import ZstdDecompressor, ZstdError

    view = memoryview(data)
    position = 0
    while position < len(view) or not position:
        position = _zstd_frame_end(view, position)
    try:
        with ZstdDecompressor().stream_reader(view, read_across_frames=True) as reader:
            while piece := reader.read(output.next_piece_size()):
                output.add(piece)
    except ZstdError as error:
        raise CorruptBatch(f"zstd: {error}") from None


_DECOMPRESS: dict[int, Callable[[Buffer, _Output], None]] = {
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}


def decompress(codec: int, data: Buffer, limit: int) -> bytes | bytearray:
    """What the data unfold to, at most `limit` bytes.

    Raises CorruptBatch for data that are not the codec's, DecompressedTooLarge beyond the limit,
    KafkaError(UNSUPPORTED_COMPRESSION_TYPE) for a codec that does not exist.
    """
    output = _Output(limit, len(data))
    if codec == Codec.NONE:
        output.add(bytes(data))
        return output.result()
    function = _DECOMPRESS.get(codec)
    if function is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"no codec has number {codec}")
    function(data, output)
    return output.result()


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    import zlib

    return zlib.compress(data, -1 if level is None else level, _GZIP_WINDOW_BITS)


def _compress_snappy(data: Buffer, _level: int | None) -> bytes:
    from cramjam import snappy

    parts = [_SNAPPY_HEADER.pack(_SNAPPY_MAGIC, _SNAPPY_VERSION, _SNAPPY_VERSION)]
    view = memoryview(data)
    for start in range(0, len(view), SNAPPY_BLOCK_SIZE):
        block = bytes(snappy.compress_raw(view[start : start + SNAPPY_BLOCK_SIZE]))
        parts += (_SNAPPY_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    """Kafka's default level, 9, names its fast compressor; all others its thorough one."""
    from lz4 import frame

    if level is None or level == KAFKA_LZ4_DEFAULT_LEVEL:
        level = 0
    else:
        level = min(max(level, _LZ4_SMALLEST_HIGH_LEVEL), _LZ4_LARGEST_LEVEL)
    compressed: bytes = frame.compress(
        data,
        compression_level=level,
        block_size=frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    from zstandard import ZstdCompressor

    return ZstdCompressor(level=3 if level is None else level).compress(data)


_COMPRESS: dict[int, Callable[[Buffer, int | None], bytes]] = {
    Codec.GZIP: _compress_gzip,
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: _compress_zstd,
}


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """The data in the codec's form; levels are those of Kafka's topic settings, None its default.

    Raises KafkaError(UNSUPPORTED_COMPRESSION_TYPE) for a codec that does not exist.
    """
    if codec == Codec.NONE:
        return bytes(data)
    function = _COMPRESS.get(codec)
    if function is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"no codec has number {codec}")
    return function(data, level)
