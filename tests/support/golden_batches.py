"""Log segments that Apache Kafka 4.3.1 wrote, and what a consumer got from them."""

import functools
import json
import tarfile
from pathlib import Path
from typing import Any

from protocol.records.batch import RecordBatch, iterate_batches

_ARCHIVE = Path(__file__).parent.parent / "golden" / "records-logs.tar.xz"
UNCOMPRESSED = ("g-none", "g-append-time", "g-txn", "g-compact", "g-out-of-order-time")
COMPRESSED = ("g-gzip", "g-snappy", "g-lz4", "g-zstd", "g-idempotent")


@functools.cache
def _contents() -> dict[str, bytes]:
    with tarfile.open(_ARCHIVE) as archive:
        files = ((member.name, archive.extractfile(member)) for member in archive.getmembers())
        return {name: file.read() for name, file in files if file is not None}


@functools.cache
def expected() -> dict[str, Any]:
    """By topic: log_start_offset, high_watermark and the records by isolation level, in hex."""
    result: dict[str, Any] = json.loads(_contents()["expect.json"])
    return result


def segments(topic: str) -> list[bytes]:
    """The topic's log files in the order of their offsets."""
    contents = _contents()
    return [contents[name] for name in sorted(contents) if name.startswith(topic + "/")]


def batches(topic: str) -> list[RecordBatch]:
    """All batches of the topic."""
    return [batch for segment in segments(topic) for batch in iterate_batches(segment)]
