import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import MalformedFrame
from protocol.schema.primitives import (
    MAX_LENGTH,
    bad_length,
    long_nullable_string,
    long_string,
    null_of,
    read_varint,
    skip_tags,
    too_many,
    too_many_items,
    write_string_length,
    write_varint,
    wrong_size,
)


@given(st.integers(0, MAX_LENGTH), st.binary(max_size=3))
def test_varints_survive_being_written(value: int, rest: bytes) -> None:
    written = write_varint(value)
    assert read_varint(b"x" + written + rest, 1) == (value, 1 + len(written))


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (MAX_LENGTH, "ffffffff07")],
)
def test_varints_hold_seven_bits_a_byte_lowest_first(value: int, written: str) -> None:
    assert write_varint(value).hex() == written


@pytest.mark.parametrize("value", [-1, MAX_LENGTH + 1])
def test_what_is_no_length_is_not_written(value: int) -> None:
    with pytest.raises(OverflowError):
        write_varint(value)


@pytest.mark.parametrize("written", ["ffffffff0f", "ffffffffff01", "808080808000"])
def test_varints_beyond_any_length_are_malformed(written: str) -> None:
    with pytest.raises(MalformedFrame):
        read_varint(bytes.fromhex(written), 0)


def test_strings_are_at_most_32767_bytes() -> None:
    assert write_string_length(32768) == write_varint(32768)
    with pytest.raises(OverflowError, match="32768 bytes"):
        write_string_length(32769)
    data = write_varint(32769) + bytes(32768)
    with pytest.raises(MalformedFrame):
        long_string(data[0], data, 1)
    with pytest.raises(MalformedFrame):
        long_nullable_string(data[0], data, 1)


def test_long_strings_are_read_behind_their_first_byte() -> None:
    data = write_varint(201) + b"x" * 200
    assert long_string(data[0], data, 1) == ("x" * 200, 202)
    assert long_nullable_string(data[0], data, 1) == ("x" * 200, 202)


def test_null_takes_any_number_of_bytes_and_is_not_a_string() -> None:
    assert long_nullable_string(0x80, b"\x80\x00", 1) == (None, 2)
    with pytest.raises(MalformedFrame):
        long_string(0x80, b"\x80\x00", 1)
    with pytest.raises(MalformedFrame, match="null"):
        long_string(0, b"\x00", 1)


def test_unknown_tags_are_skipped() -> None:
    tags = b"\x07\x02ab" + write_varint(300) + b"\x00"
    assert skip_tags(2, tags, 0) == len(tags)
    many = b"\x01\x00" * 130
    assert skip_tags(0x82, b"\x01" + many, 0) == 1 + len(many)


def test_minus_one_is_null_and_no_other_negative_length() -> None:
    assert null_of(-1) is None  # type: ignore[func-returns-value]
    with pytest.raises(MalformedFrame, match="-2"):
        null_of(-2)


def test_errors_tell_the_numbers() -> None:
    assert "-1" in str(bad_length(-1))
    assert "9 items in 4 bytes" in str(too_many(9, 4))
    assert "3 items more" in str(too_many_items(-3))
    assert "byte 7, not 8" in str(wrong_size(7, 8))
