"""Groups and transactional ids live where Kafka puts them; the vectors are a JVM's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.coordinator.partition_of import java_hash, partition_of

OF_A_JVM = [
    ("", 0, 0),
    ("a", 97, 47),
    ("hello", 99162322, 22),
    ("polygenelubricants", -2147483648, 0),
    ("DESIGNING WORKHOUSES", -2147483648, 0),
    ("console-consumer-12345", 158455506, 6),
    ("groupe-\u00e9", 506365602, 2),
    ("\u30b0\u30eb\u30fc\u30d7", 383750870, 20),
    ("\U0001f600-group", -1198440043, 43),
    ("\ud800x", 1714296, 46),
    ("x" * 249, -1202799496, 46),
]


@pytest.mark.parametrize(("text", "value", "partition"), OF_A_JVM)
def test_hash_and_partition_are_those_of_kafka(text: str, value: int, partition: int) -> None:
    assert java_hash(text) == value
    assert partition_of(text, 50) == partition


@given(head=st.text(max_size=20), tail=st.text(max_size=20), count=st.integers(1, 1000))
def test_the_hash_is_a_polynomial_of_code_units(head: str, tail: str, count: int) -> None:
    units = len(tail.encode("utf-16-be")) // 2
    expected = java_hash(head) * 31**units + java_hash(tail)
    assert (java_hash(head + tail) - expected) % 2**32 == 0
    assert -(2**31) <= java_hash(head) < 2**31
    assert 0 <= partition_of(head, count) < count
