"""A topic that Kafka's cleaner went over, cleaned by ours from what its producer sent.

`tests/golden/g-compact-0` is what Apache Kafka 4.3.1 left of it in its first segment.
"""

from pathlib import Path

import pytest

from protocol.records.batch import iterate_batches
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.cleaner.cleaning import Cleaning
from storage.cleaner.order import CleaningOrder, Source
from storage.filenames import CLEANED, LOG, OFFSET_INDEX, TIME_INDEX, segment_path
from storage.segment.file_set import SegmentSettings
from tests.support.fault_disk import FaultDisk

FOLDER = Path(__file__).parents[3] / "golden" / "g-compact-0"

HORIZON = 1795370180184
"""When the tombstone of k0 may go, as Kafka wrote it."""
ROUNDS, KEYS = 4, 5


def golden(kind: str) -> bytes:
    return (FOLDER / f"{0:020d}{kind}").read_bytes()


def produced() -> dict[int, bytes]:
    """What was sent, a segment for each of the four rounds and one for the tombstone.

    Values that compaction took are made up; those it left are Kafka's.
    """
    kept = {
        record.offset: record
        for batch in iterate_batches(golden(LOG))
        for record in batch.records()
    }
    segments = {}
    for first in range(0, 80, 20):
        records = [
            kept.get(first + n)
            or Record(0, 1700000000000 + 5000 * first + n, b"k%d" % (n % KEYS), b"taken", [])
            for n in range(20)
        ]
        segments[first] = bytes(build_batch(records, base_offset=first, leader_epoch=0))
    segments[80] = bytes(build_batch([kept[80]], base_offset=80, leader_epoch=0))
    return segments


@pytest.mark.parametrize("secret", [bytes(16), bytes(range(16))])
def test_what_is_left_is_byte_for_byte_what_kafka_left(secret: bytes) -> None:
    disk = FaultDisk()
    disk.mkdir("/g-compact-0")
    bases = [*produced(), 81]
    sources = []
    for (base_offset, data), end_offset in zip(produced().items(), bases[1:], strict=True):
        disk.write_file(segment_path("/g-compact-0", base_offset, LOG), data)
        sources.append(Source(base_offset, end_offset, len(data)))
    cleaning = Cleaning(
        disk,
        CleaningOrder(
            "/g-compact-0",
            tuple(sources),
            (),
            0,
            {},
            HORIZON - 86400000,
            86400000,
            1 << 30,
            SegmentSettings(4096, 65536),
            1 << 18,
            100,
            90,
            secret,
        ),
    )
    while cleaning.advance(1 << 30).stats is None:
        pass
    for kind in (LOG, OFFSET_INDEX, TIME_INDEX):
        ours = disk.read_file(segment_path("/g-compact-0", 0, kind, CLEANED))
        assert ours == golden(kind), kind
