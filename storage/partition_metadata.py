"""`partition.metadata`: which topic a partition directory belongs to.

```text
version: 0
topic_id: 4rksbjtcQjaJx41Svz72OA        no newline after it
```
A name can come back with another topic under it, an id cannot. A new log's file is made durable
by the log's first flush, which comes before any acknowledgement under flush-before-ack and may come
long after one otherwise. A power cut before it leaves the file empty or missing; the next start
then writes it anew from metadata, which is durable before the log is made.
Source: PartitionMetadataFile.java, KIP-516.
"""

from protocol.model import topic_id_from_text, topic_id_to_text
from runtime.disk import Disk
from storage.checkpoints import replace_file
from storage.errors import CorruptFileError
from storage.filenames import PARTITION_METADATA_FILE

_VERSION = "0"
_ID_LENGTH = 16


def encode_partition_metadata(topic_id: bytes) -> bytes:
    """The file's text."""
    return f"version: {_VERSION}\ntopic_id: {topic_id_to_text(topic_id)}".encode()


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """The topic id (16 bytes) of a partition directory; None without the file.

    CorruptFileError for a file that is not one.
    """
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    if not disk.exists(path):
        return None
    try:
        lines = disk.read_file(path).decode().split("\n")
        fields = dict(line.split(": ", 1) for line in lines if line)
        if fields["version"] != _VERSION:
            raise CorruptFileError(path, f"unrecognized version {fields['version']!r}")
        topic_id = topic_id_from_text(fields["topic_id"])
    except (ValueError, KeyError) as error:
        raise CorruptFileError(path, f"malformed: {error}") from error
    if len(topic_id) != _ID_LENGTH or not any(topic_id):
        raise CorruptFileError(path, f"invalid topic id {fields['topic_id']!r}")
    return topic_id


def write_topic_id(disk: Disk, directory: str, topic_id: bytes, *, sync: bool = True) -> None:
    """Put the id in the directory; durable afterwards, name and all, unless told not to sync.

    Without sync the caller runs `sync_topic_id` in a worker before it acknowledges anything.
    """
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    replace_file(disk, path, encode_partition_metadata(topic_id), sync=sync)


def sync_topic_id(disk: Disk, directory: str) -> None:
    """Make an id written without sync durable; runs in any thread."""
    fd = disk.open(f"{directory}/{PARTITION_METADATA_FILE}")
    try:
        disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.fsync_dir(directory)
