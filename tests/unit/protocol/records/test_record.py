"""One record's bytes are Kafka's."""

import pytest

from protocol.records.record import encode_record, encode_varint

VARINTS = [
    (0, "00"),
    (-1, "01"),
    (1, "02"),
    (63, "7e"),
    (-64, "7f"),
    (64, "8001"),
    (-65, "8101"),
    (8191, "fe7f"),
    (8192, "808001"),
    (-8193, "818001"),
    (2**31 - 1, "feffffff0f"),
    (-(2**31), "ffffffff0f"),
    (2**63 - 1, "feffffffffffffffff01"),
    (-(2**63), "ffffffffffffffffff01"),
]


@pytest.mark.parametrize(("value", "encoded"), VARINTS)
def test_varints_are_zig_zag_seven_bits_a_byte(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded


def test_a_record_of_nulls_is_seven_bytes() -> None:
    assert encode_record(0, 0, None, None).hex(" ") == "0c 00 00 00 01 01 00"


def test_key_value_and_headers_have_their_length_before_them() -> None:
    encoded = encode_record(2, -1, b"k", b"", [("é", b"\x00"), ("", None)])
    assert encoded.hex(" ") == "1c 00 01 04 02 6b 00 04 04 c3 a9 02 00 00 01"
