"""Making room for a new log where a directory of its name lies already, served by nobody.

It may be the log of a topic that was deleted, which a power cut brought back, or one that holds
records of this very topic. What is known to be of another incarnation, or to be nothing, is set
aside as `-stray`; nothing is removed, and what may be wanted is not touched:

    it names another topic id                    set aside
    it names none, and the partition is new      set aside: when it was made there was no such topic
    it names none, and no log has a byte         set aside: nothing was lost there
    else                                         refused; whoever knows better moves it away

A directory names no id if it was never flushed, since a flush begins with the identity. The rename
is not synced: undone by a power cut, it is found and judged again.
"""

import logging
from collections.abc import Callable, Iterable

from protocol.errors import ErrorCode, KafkaError
from protocol.model import ZERO_TOPIC_ID, TopicPartition, topic_id_to_text
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.filenames import (
    LOG,
    STRAY,
    marked_directory_name,
    parse_segment_file_name,
    partition_directory_name,
)
from storage.log_directory import LogDirectory
from storage.partition_metadata import read_topic_id

logger = logging.getLogger(__name__)


def has_bytes(disk: Disk, directory: str) -> bool:
    """Whether any `.log` in a partition directory, whatever its suffix, is longer than nothing."""
    for name in disk.listdir(directory):
        file = parse_segment_file_name(name)
        if file is not None and file.kind == LOG and disk.file_size(f"{directory}/{name}"):
            return True
    return False


def clear_name(
    directories: Iterable[LogDirectory],
    partition: TopicPartition,
    topic_id: bytes,
    unique: Callable[[], str],
    *,
    is_new: bool,
) -> list[LogDirectory]:
    """Set aside what has the name of a log that is to be made; where something was.

    KafkaError(KAFKA_STORAGE_ERROR) for what must stay, see the module.
    """
    cleared = []
    for directory in directories:
        path = f"{directory.path}/{partition_directory_name(*partition)}"
        if directory.offline or not directory.disk.exists(path):
            continue
        try:
            found = read_topic_id(directory.disk, path)
        except CorruptFileError:
            found = None
        if found is None:
            is_fresh = is_new and topic_id != ZERO_TOPIC_ID
            may_go = is_fresh or not has_bytes(directory.disk, path)
        else:
            may_go = found != topic_id
        if not may_go:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{path} exists and is not served; it may hold records of this topic. Move it "
                "away, or restart the broker to have it loaded.",
            )
        stray = marked_directory_name(*partition, STRAY, unique())
        logger.warning(
            "%s belongs to %s, not to the new topic of this name: set aside as %s",
            path,
            "no topic" if found is None else f"topic id {topic_id_to_text(found)}",
            stray,
        )
        directory.disk.rename(path, f"{directory.path}/{stray}")
        cleared.append(directory)
    return cleared
