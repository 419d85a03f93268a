"""Reading `__cluster_metadata` of a stopped broker: newest snapshot, then the log behind it.

```text
<metadata.log.dir>/__cluster_metadata-0/
    00000000000000000120-0000000003.checkpoint   all that held before offset 120, in epoch 3
    00000000000000000000.log …                   batches of records, controllers' own among them
```
A snapshot is one file of batches between a header and a footer, which are control batches; without
its footer it was cut off, and an older one is used. A log torn at its very end lost what nobody
was told of; torn anywhere else it is damaged, and nothing is read from it.

A broker that is no voter holds a copy of the voters' log. Both may end with records that were not
committed when they stopped, and the files do not say which: the only voter commits them when it
starts again, a larger quorum may drop them.
Source: KafkaMetadataLog, Snapshots, RecordsSnapshotReader of Kafka 3.9 and 4.3.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from protocol.errors import KafkaError, MalformedFrame
from protocol.internal.cluster_metadata import Skipped, decode_record
from protocol.records.batch import HEADER_SIZE_UP_TO_MAGIC, RecordBatch, parse_batch, peek_header
from protocol.records.control import ControlType, control_type
from protocol.schema.message import Message
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import LOG, NO_SUFFIX, parse_segment_file_name, segment_path

METADATA_DIRECTORY = "__cluster_metadata-0"
_SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class Snapshot(NamedTuple):
    """A snapshot file: it has everything below `end_offset`."""

    end_offset: int
    epoch: int
    path: str


class Placed(NamedTuple):
    """A record and where in the log it stands; -1 for one of a snapshot."""

    offset: int
    record: Message | Skipped


def read_records(disk: Disk, directory: str) -> Iterator[Placed]:
    """Every record that counts, in order. CorruptFileError names what cannot be read."""
    end_offset = 0
    for snapshot in snapshots(disk, directory):
        if _is_whole(disk, snapshot.path):
            end_offset = snapshot.end_offset
            yield from _records(disk, snapshot.path, -1, is_last=False)
            break
    bases = segment_bases(disk, directory)
    if bases and bases[0] > end_offset:
        raise CorruptFileError(
            segment_path(directory, bases[0], LOG),
            f"no snapshot holds what was before offset {bases[0]}",
        )
    for index, base in enumerate(bases):
        is_last = index + 1 == len(bases)
        if is_last or bases[index + 1] > end_offset:
            path = segment_path(directory, base, LOG)
            yield from _records(disk, path, end_offset, is_last=is_last)


def snapshots(disk: Disk, directory: str) -> list[Snapshot]:
    """Snapshot files by their names, newest first."""
    found = []
    for name in disk.listdir(directory):
        match = _SNAPSHOT_NAME.fullmatch(name)
        if match is not None:
            found.append(Snapshot(int(match[1]), int(match[2]), f"{directory}/{name}"))
    return sorted(found, reverse=True)


def segment_bases(disk: Disk, directory: str) -> list[int]:
    """Base offsets of the log's segments, ascending."""
    parsed = map(parse_segment_file_name, disk.listdir(directory))
    return sorted(
        name.base_offset
        for name in parsed
        if name is not None and name.kind == LOG and name.suffix == NO_SUFFIX
    )


def _is_whole(disk: Disk, path: str) -> bool:
    """Whether a snapshot ends as a finished one does."""
    last = None
    try:
        for batch in _batches(disk, path, is_last=False):
            last = batch
        if last is None or not last.is_control:
            return False
        return control_type(last.records()[0].key) == ControlType.SNAPSHOT_FOOTER
    except (CorruptFileError, KafkaError, IndexError):
        return False


def _records(disk: Disk, path: str, start_offset: int, *, is_last: bool) -> Iterator[Placed]:
    """Records from an offset on; a start offset of -1 takes all, as of a snapshot."""
    for batch in _batches(disk, path, is_last=is_last):
        if batch.is_control or batch.last_offset < start_offset:
            continue
        try:
            for offset, _, _, value, _ in batch.records():
                if offset >= start_offset and value is not None:
                    place = offset if start_offset >= 0 else -1
                    yield Placed(place, decode_record(value))
        except (KafkaError, MalformedFrame) as error:
            raise CorruptFileError(path, f"batch at offset {batch.base_offset}: {error}") from error


def _batches(disk: Disk, path: str, *, is_last: bool) -> Iterator[RecordBatch]:
    """Whole batches whose checksums hold; a torn end is passed over in the last segment only."""
    fd = disk.open(path, writable=False)
    try:
        position, size = 0, disk.size(fd)
        while position < size:
            batch = _batch_at(disk, fd, position)
            if batch is None:
                if is_last:
                    return
                raise CorruptFileError(path, f"no whole batch at position {position}")
            yield batch
            position += batch.size
    finally:
        disk.close(fd)


def _batch_at(disk: Disk, fd: int, position: int) -> RecordBatch | None:
    try:
        prefix = peek_header(disk.pread(fd, HEADER_SIZE_UP_TO_MAGIC, position))
        if prefix is None or position + prefix.size > disk.size(fd):
            return None
        batch = parse_batch(disk.pread(fd, prefix.size, position))
    except KafkaError:
        return None
    return batch if batch.crc_ok() else None
