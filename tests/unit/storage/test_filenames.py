"""Names are made as Kafka makes them, and read from the right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import filenames
from storage.filenames import (
    DELETE,
    FUTURE,
    LIVE,
    STRAY,
    PartitionDirectoryName,
    SegmentFileName,
    marked_directory_name,
    parse_partition_directory_name,
    parse_segment_file_name,
    partition_directory_name,
    segment_file_name,
    segment_path,
)

UNIQUE = "0123456789abcdef0123456789abcdef"
TOPICS = st.text("abc.-_9", min_size=1, max_size=249)


def test_segment_files_have_twenty_digits() -> None:
    assert segment_file_name(42, filenames.LOG) == "00000000000000000042.log"
    assert segment_path("/d/t-0", 42, filenames.OFFSET_INDEX, filenames.DELETED) == (
        "/d/t-0/00000000000000000042.index.deleted"
    )


@pytest.mark.parametrize("kind", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
@pytest.mark.parametrize("suffix", ["", ".deleted", ".cleaned", ".swap"])
def test_segment_files_are_read_back(kind: str, suffix: str) -> None:
    name = segment_file_name(7, kind, suffix)
    assert parse_segment_file_name(name) == SegmentFileName(7, kind, suffix)


@pytest.mark.parametrize(
    "name",
    ["leader-epoch-checkpoint", "partition.metadata", ".log", "x.log", "12", "1.tmp", "٣.log"],
)
def test_other_files_are_none_of_a_segment(name: str) -> None:
    assert parse_segment_file_name(name) is None


@given(TOPICS, st.integers(0, 2**31 - 1))
def test_live_directories_are_read_back(topic: str, partition: int) -> None:
    name = partition_directory_name(topic, partition)
    expected = PartitionDirectoryName(topic, partition, LIVE, "")
    assert parse_partition_directory_name(name) == expected


@given(TOPICS, st.integers(0, 2**31 - 1), st.sampled_from([DELETE, STRAY, FUTURE]))
def test_marked_directories_are_read_back_and_deleted_ones_are_short(
    topic: str, partition: int, state: str
) -> None:
    name = marked_directory_name(topic, partition, state, UNIQUE)
    parsed = parse_partition_directory_name(name)
    assert parsed is not None
    assert (parsed.partition, parsed.state, parsed.unique) == (partition, state, UNIQUE)
    assert topic.startswith(parsed.topic)
    if state == FUTURE:
        assert parsed.topic == topic
    else:
        assert len(name) == 255 or (len(name) < 255 and parsed.topic == topic)


@pytest.mark.parametrize(
    "name", ["", "topic", "-0", "topic-", "topic-x", "topic-0-delete", "t-0.-delete", "t-²"]
)
def test_other_directories_are_no_partitions(name: str) -> None:
    assert parse_partition_directory_name(name) is None
