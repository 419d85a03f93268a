from hypothesis import given
from hypothesis import strategies as st

from protocol.crc32c import crc32c


def test_the_check_value_of_the_castagnoli_polynomial() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_checksum_can_be_continued(first: bytes, second: bytes) -> None:
    assert crc32c(memoryview(second), crc32c(first)) == crc32c(first + second)
