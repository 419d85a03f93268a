import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.model import (
    METADATA_TOPIC_ID,
    ZERO_TOPIC_ID,
    SpecialTimestamp,
    TopicPartition,
    topic_id_from_text,
    topic_id_to_text,
)


def test_a_partition_is_the_tuple_it_looks_like() -> None:
    partition = TopicPartition("a-topic", 3)
    assert partition == ("a-topic", 3)
    found: dict[tuple[str, int], int] = {partition: 1}
    assert found["a-topic", 3] == 1
    assert str(partition) == "a-topic-3"


def test_topic_ids_are_written_as_kafka_writes_them() -> None:
    assert topic_id_to_text(ZERO_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert topic_id_to_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert topic_id_to_text(b"\xff" * 16) == "_____________________w"
    assert topic_id_to_text(b"\xfb\xef\xbe" * 5 + b"\0") == "--" * 10 + "AA"


@given(st.binary(min_size=16, max_size=16))
def test_topic_ids_survive_being_written(topic_id: bytes) -> None:
    text = topic_id_to_text(topic_id)
    assert len(text) == 22
    assert not set(text) & set("+/=")
    assert topic_id_from_text(text) == topic_id


@pytest.mark.parametrize(
    "text", ["", "abc", "A" * 21, "A" * 23, "AAAAAAAAAAAAAAAAAAAAAB", "é" * 22, "A" * 21 + "="]
)
def test_anything_else_is_no_topic_id(text: str) -> None:
    with pytest.raises(ValueError, match="is not a topic id"):
        topic_id_from_text(text)


def test_special_timestamps_are_negative_and_without_gaps() -> None:
    assert sorted(SpecialTimestamp) == list(range(-6, 0))
