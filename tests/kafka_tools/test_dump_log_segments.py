"""Kafka's own DumpLogSegments reads all of what Tidelog wrote and finds nothing wrong."""

import re
from pathlib import Path

import pytest

from storage import filenames
from tests.kafka_tools.conftest import Closed
from tests.kafka_tools.dumping import dump, files
from tests.kafka_tools.workload import APPEND_TIME, topics

WRITTEN = [*topics(), APPEND_TIME]

pytestmark = pytest.mark.timeout(240)


def ours(closed: Closed, *suffixes: str) -> list[Path]:
    """Files with one of these suffixes in the partitions of the workload."""
    folders = [closed.ours / f"{appends.name}-0" for appends in WRITTEN]
    return files(folders, *suffixes)


def test_every_record_is_read_and_every_batch_valid(closed: Closed, jars: Path) -> None:
    text = dump(jars, ours(closed, filenames.LOG), "--deep-iteration", "--print-data-log")
    batches = re.findall(r"^baseOffset: .* isvalid: (\w+)", text, re.MULTILINE)
    assert len(batches) == sum(len(appends.batches) for appends in WRITTEN)
    assert set(batches) == {"true"}
    records = re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)
    counted = sum(int(n) for n in re.findall(r"^baseOffset: .* count: (\d+)", text, re.MULTILINE))
    assert len(records) == counted > 1000
    for name in ("NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD"):
        assert f"compresscodec: {name.lower()}" in text.lower()
    assert "LogAppendTime" in text or "LOG_APPEND_TIME" in text


def test_indexes_point_at_what_they_say(closed: Closed, jars: Path) -> None:
    paths = ours(closed, filenames.OFFSET_INDEX, filenames.TIME_INDEX)
    assert len(paths) > 20
    assert "offset: " in dump(jars, paths)


def test_indexes_are_sane(closed: Closed, jars: Path) -> None:
    paths = ours(closed, filenames.OFFSET_INDEX, filenames.TIME_INDEX)
    text = dump(jars, paths, "--index-sanity-check")
    sane = re.findall(r"(?:passed sanity check|is empty)\.$", text, re.MULTILINE)
    assert len(sane) == len(paths)


def test_indexes_verify_alone(closed: Closed, jars: Path) -> None:
    dump(jars, ours(closed, filenames.OFFSET_INDEX), "--verify-index-only")


def test_producer_snapshots_are_decoded(closed: Closed, jars: Path) -> None:
    paths = ours(closed, ".snapshot")
    assert len(paths) > 5
    text = dump(jars, paths)
    assert {"7001", "7002", "7003"} <= set(re.findall(r"producerId: (\d+)", text))
