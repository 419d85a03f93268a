import struct

import pytest

from protocol.framing import SIZE_BYTES, read_size, size_prefix, total_size


class Slice:
    nbytes = 1000


def test_a_size_is_four_bytes_signed() -> None:
    assert size_prefix(258) == b"\0\0\1\2"
    assert len(size_prefix(0)) == SIZE_BYTES
    assert read_size(b"xx\0\0\1\2", 2) == 258
    assert read_size(b"\xff\xff\xff\xff") == -1


def test_less_than_four_bytes_is_no_size() -> None:
    with pytest.raises(struct.error):
        read_size(b"\0\0\0")


def test_parts_count_what_will_be_sent() -> None:
    assert total_size([b"abc", Slice(), b""]) == 1003
