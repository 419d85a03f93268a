"""Small text files that say where things stand.

```text
0                      version
2                      number of entries
orders 0 1500          topic partition offset, one entry a line
orders 1 1498
```
A file is never changed in place: the new text is written to `<name>.tmp`, synced, renamed over the
old one, and the directory is synced. After any crash the file holds the old text or the new one.
Source: CheckpointFile.java, OffsetCheckpointFile.java (4.3). Kafka writes entries in the order of
its hash maps; ours keep the order of the mapping.
"""

from collections.abc import Iterable, Mapping

from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import TEMPORARY

_VERSION = "0"


def replace_file(disk: Disk, path: str, data: bytes, *, sync: bool = True) -> None:
    """Put data at path in one step; with sync it is durable afterwards, name and all.

    Without sync the step is atomic against a killed process only.
    """
    temporary = path + TEMPORARY
    disk.write_file(temporary, data, sync=sync)
    disk.replace(temporary, path)
    if sync:
        disk.fsync_dir(path.rpartition("/")[0] or ".")


def encode_lines(lines: Iterable[str]) -> bytes:
    """The text of a checkpoint file with these entries."""
    entries = list(lines)
    return "\n".join([_VERSION, str(len(entries)), *entries, ""]).encode()


def decode_lines(path: str, data: bytes) -> list[list[str]]:
    """The fields of each entry; CorruptFileError unless version and count agree with the text.

    An empty file has no entries: that is what a power cut leaves of a name that was never filled.
    """
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CorruptFileError(path, "not text") from error
    if not lines:
        return []
    if lines[0] != _VERSION:
        raise CorruptFileError(path, f"unrecognized version {lines[0]!r}")
    if len(lines) < 2 or not lines[1].isdecimal():
        raise CorruptFileError(path, "no number of entries")
    if int(lines[1]) != len(lines) - 2:
        raise CorruptFileError(path, f"expected {lines[1]} entries, found {len(lines) - 2}")
    return [line.split() for line in lines[2:]]


class OffsetCheckpoint:
    """One file of offsets by partition, such as the recovery points of a log directory."""

    __slots__ = ("_disk", "path")

    def __init__(self, disk: Disk, log_dir: str, name: str) -> None:
        self._disk = disk
        self.path = f"{log_dir}/{name}"

    def read(self) -> dict[TopicPartition, int]:
        """Offsets by partition; none without a file. CorruptFileError leaves the file as it is."""
        if not self._disk.exists(self.path):
            return {}
        offsets = {}
        for fields in decode_lines(self.path, self._disk.read_file(self.path)):
            try:
                topic, partition, offset = fields
                offsets[TopicPartition(topic, int(partition))] = int(offset)
            except ValueError as error:
                raise CorruptFileError(self.path, f"malformed line {' '.join(fields)!r}") from error
        return offsets

    def write(self, offsets: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int]) -> None:
        """Replace the file; durable afterwards. Runs in any thread, one write at a time."""
        replace_file(self._disk, self.path, encode_offsets(offsets))


def encode_offsets(
    offsets: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int],
) -> bytes:
    """Text of an offset checkpoint."""
    return encode_lines(
        f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()
    )
