"""`known-gaps`: offsets that a repair could not save, kept beside the log they are missing from.

```text
0                version
1                number of gaps
400 420          first offset, first one after the gap
```
A checkpoint file (see `storage.checkpoints`) of our own; Kafka passes over it. In a log that is not
compacted a gap means that a file was lost, unless it is told here.
"""

from collections.abc import Iterable

from runtime.disk import Disk
from storage.checkpoints import decode_lines, encode_lines, replace_file
from storage.errors import CorruptFileError

KNOWN_GAPS = "known-gaps"

Gap = tuple[int, int]
"""First offset that is missing, first one after the gap."""


def read_known_gaps(disk: Disk, directory: str) -> list[Gap]:
    """The gaps of a partition's log, none without a file; CorruptFileError for one that is none."""
    path = f"{directory}/{KNOWN_GAPS}"
    if not disk.exists(path):
        return []
    gaps = []
    for fields in decode_lines(path, disk.read_file(path)):
        try:
            first, end = map(int, fields)
        except ValueError as error:
            raise CorruptFileError(path, f"malformed line {' '.join(fields)!r}") from error
        gaps.append((first, end))
    return gaps


def write_known_gaps(disk: Disk, directory: str, gaps: Iterable[Gap]) -> None:
    """Replace the file; durable afterwards."""
    text = encode_lines(f"{first} {end}" for first, end in gaps)
    replace_file(disk, f"{directory}/{KNOWN_GAPS}", text)
