"""A frame on the wire: four bytes of size, big-endian and signed, then that many bytes.

| size int32 | header | body |
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from protocol.schema.message import Payload

SIZE_BYTES: Final = 4
_SIZE: Final = Struct(">i")


def read_size(data: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The size a frame claims, which nobody has judged yet; struct.error below four bytes."""
    size: int = _SIZE.unpack_from(data, position)[0]
    return size


def size_prefix(size: int) -> bytes:
    """The four bytes before a frame of `size` bytes."""
    return _SIZE.pack(size)


def total_size(parts: Iterable[bytes | Payload]) -> int:
    """The bytes that a response's parts will put on the wire."""
    return sum(len(part) if isinstance(part, bytes) else part.nbytes for part in parts)
