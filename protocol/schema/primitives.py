"""What compiled codecs call where straight-line code would be too long, and rarely runs.

An unsigned varint holds seven bits a byte, lowest first, the top bit saying that more follow; Kafka
uses it for compact lengths (length + 1, 0 for null), for tags and for sizes of tagged fields, and
never above 2**31 - 1 (KIP-482).
"""

from typing import Final

from protocol.errors import MalformedFrame

Buffer = bytes | bytearray | memoryview

MAX_STRING: Final = 32767
MAX_LENGTH: Final = 2**31 - 1


def continue_varint(value: int, data: Buffer, position: int) -> tuple[int, int]:
    """The whole varint whose first byte was `value`, and the position behind it."""
    value &= 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise MalformedFrame("a varint is longer than five bytes")
    if value > MAX_LENGTH:
        raise MalformedFrame(f"a varint of {value} is larger than any length")
    return value, position


def read_varint(data: Buffer, position: int) -> tuple[int, int]:
    """The varint at `position`, and the position behind it."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    return continue_varint(byte, data, position + 1)


def write_varint(value: int) -> bytes:
    """`value` as an unsigned varint; OverflowError when it is negative or above 2**31 - 1."""
    if not 0 <= value <= MAX_LENGTH:
        raise OverflowError(f"{value} is no length")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_string_length(length: int) -> bytes:
    """Compact length of a string; `length` counts one more than its bytes."""
    if length > MAX_STRING + 1:
        raise OverflowError(f"a string of {length - 1} bytes is longer than {MAX_STRING}")
    return write_varint(length)


def long_string(first: int, data: Buffer, position: int) -> tuple[str, int]:
    """A compact string whose length does not fit the byte `first`, or is the null not allowed."""
    if not first:
        raise MalformedFrame("null where a string is required")
    length, position = continue_varint(first, data, position)
    if not 0 < length <= MAX_STRING + 1:
        raise MalformedFrame(f"a string of {length - 1} bytes")
    end = position + length - 1
    return str(data[position:end], "utf-8"), end


def long_nullable_string(first: int, data: Buffer, position: int) -> tuple[str | None, int]:
    """A nullable compact string whose length takes more than the byte `first`."""
    length, position = continue_varint(first, data, position)
    if not length:
        return None, position
    if length > MAX_STRING + 1:
        raise MalformedFrame(f"a string of {length - 1} bytes")
    end = position + length - 1
    return str(data[position:end], "utf-8"), end


def skip_tags(count: int, data: Buffer, position: int) -> int:
    """The position behind `count` tagged fields that nobody here knows."""
    if count > 0x7F:
        count, position = continue_varint(count, data, position)
    for _ in range(count):
        _, position = read_varint(data, position)
        size, position = read_varint(data, position)
        position += size
    return position


def null_of(length: int) -> None:
    """Null, if that is what a negative length says."""
    if length != -1:
        raise MalformedFrame(f"a length of {length}")


def bad_length(length: int) -> MalformedFrame:
    """The error for a negative length, or null, where a value is required."""
    return MalformedFrame(f"a length of {length} where a value is required")


def too_many(count: int, remaining: int) -> MalformedFrame:
    """The error for an array that the rest of the frame cannot hold."""
    return MalformedFrame(f"an array of {count} items in {remaining} bytes")


def too_many_items(excess: int) -> MalformedFrame:
    """The error for a request that would fill the memory with small things."""
    return MalformedFrame(f"{-excess} items more than a request may hold")


def wrong_size(position: int, end: int) -> MalformedFrame:
    """The error for a message, or a tagged field, that ends elsewhere than it should."""
    return MalformedFrame(f"ends at byte {position}, not {end}")
