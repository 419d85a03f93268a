"""Which partition of an internal topic a group or a transactional id lives in.

The leader of that partition is its coordinator, so the answer must be Kafka's to the bit, for ever:
Java's hash of the string, its sign taken off, modulo the number of partitions the topic was created
with. Java hashes UTF-16 code units: h = 31 · h + unit, in 32 bits with a sign.
Source: `String.hashCode`, Kafka 4.3 `Utils.abs`, `GroupCoordinatorService.partitionFor`.
"""

from collections.abc import Iterable
from struct import iter_unpack
from typing import Final

_MASK: Final = 0xFFFF_FFFF
_SIGN: Final = 0x8000_0000


def partition_of(key: str, partition_count: int) -> int:
    """The partition of this id; the smallest integer, which has no positive, counts as 0."""
    magnitude = abs(java_hash(key))
    return 0 if magnitude == _SIGN else magnitude % partition_count


def java_hash(text: str) -> int:
    """What Java's `hashCode` of the string is: from -2^31 to 2^31 - 1."""
    value = 0
    for unit in text.encode() if text.isascii() else _utf16(text):
        value = (31 * value + unit) & _MASK
    return (value ^ _SIGN) - _SIGN


def _utf16(text: str) -> Iterable[int]:
    """The code units; a character beyond 16 bits has two."""
    return (unit for (unit,) in iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")))
