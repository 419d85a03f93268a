"""Log directories that Apache Kafka 4.3.1 wrote and closed cleanly, for comparison byte by byte.

`tests/golden/storage-clean.tar.xz` holds partitions with known contents. index.interval.bytes is
512 for g-index, 100 for g-out-of-order-time, some 200 for g-txn and 4096 elsewhere;
segment.index.bytes is 64 KiB.
"""

import functools
import pathlib
import tarfile

from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch, iterate_batches
from storage.segment.file_set import SegmentSettings
from tests.support.fault_disk import FaultDisk

ARCHIVE = pathlib.Path(__file__).parent.parent / "golden" / "storage-clean.tar.xz"
INTERVALS = {"g-index-0": 512, "g-out-of-order-time-0": 100, "g-txn-0": 200}
PARTITIONS = (
    "g-none-0",
    "g-idempotent-0",
    "g-index-0",
    "g-out-of-order-time-0",
    "g-rolled-0",
    "g-append-time-0",
    "g-txn-0",
    "__consumer_offsets-1",
    "__consumer_offsets-2",
)


@functools.cache
def golden_files() -> dict[str, bytes]:
    """Content of every file by its path in the log directory."""
    files = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name] = content.read()
    return files


def golden_partition(name: str) -> dict[str, bytes]:
    """Content of one partition's files by name."""
    prefix = name + "/"
    return {
        path.removeprefix(prefix): content
        for path, content in golden_files().items()
        if path.startswith(prefix)
    }


def golden_batches(name: str) -> dict[int, list[RecordBatch]]:
    """Batches of each segment, by its base offset."""
    return {
        int(path.removesuffix(".log")): list(iterate_batches(content))
        for path, content in sorted(golden_partition(name).items())
        if path.endswith(".log")
    }


def golden_settings(name: str) -> SegmentSettings:
    """What the partition's segments were written with."""
    return SegmentSettings(INTERVALS.get(name, 4096), 65536)


def topic_partition(name: str) -> TopicPartition:
    """The partition of a directory name."""
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def disk_with(name: str, *suffixes: str) -> FaultDisk:
    """A disk that holds the partition's files, those with one of the suffixes only if given."""
    disk = FaultDisk()
    disk.makedirs(name)
    for path, content in golden_partition(name).items():
        if not suffixes or path.endswith(suffixes):
            disk.write_file(f"{name}/{path}", content)
    disk.sync_all()
    return disk


def contents(disk: FaultDisk, directory: str) -> dict[str, bytes]:
    """Content of a directory's files by name."""
    return {name: disk.read_file(f"{directory}/{name}") for name in disk.listdir(directory)}
