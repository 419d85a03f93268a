"""What belongs to a log directory as a whole: whose it is, and whether it was closed cleanly.

`meta.properties` (Java properties) names the broker, the cluster and the directory itself:
```text
#
#Sat Nov 21 17:55:55 UTC 2026
node.id=1                                  broker.id=1 in version 0
directory.id=kzEWHiXdTWWGvVF1d5aJDw
version=1
cluster.id=Mq01w22PRYSZN3vS7nX1CA
```
Version 1 is written with the embedded metadata store, 0 with ZooKeeper; both are read.
`.kafka_cleanshutdown`, `{"version":0,"brokerEpoch":16}`, says that every log below was flushed and
closed; older brokers leave it empty. It is read and removed at start, so that a crash while
starting is not mistaken for a clean shutdown.
Source: MetaProperties.java, CleanShutdownFileHandler.java (4.3), KIP-858, KIP-966.
"""

from typing import NamedTuple

from runtime.disk import Disk
from storage.checkpoints import replace_file
from storage.errors import CorruptFileError
from storage.filenames import CLEAN_SHUTDOWN_FILE, META_PROPERTIES_FILE

UNKNOWN_BROKER_EPOCH = -1

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class MetaProperties(NamedTuple):
    """Whose a log directory is. `version` decides how the node is named in the file."""

    version: int
    node_id: int
    cluster_id: str | None
    directory_id: str | None


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values of Java properties, as far as `meta.properties` needs them.

    No continued lines and no `\\u` escapes: its values are numbers and base64.
    """
    properties = {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, equals, value = line.partition("=")
        if not equals:
            key, _, value = line.partition(":")
        properties[key.strip()] = value.strip().replace("\\", "")
    return properties


def read_meta_properties(disk: Disk, log_dir: str) -> MetaProperties | None:
    """Whose the directory is; None in a fresh one. CorruptFileError for a file that cannot be."""
    path = f"{log_dir}/{META_PROPERTIES_FILE}"
    if not disk.exists(path):
        return None
    try:
        properties = parse_properties(disk.read_file(path).decode())
        version = int(properties["version"])
        if version not in (0, 1):
            raise CorruptFileError(path, f"unrecognized version {version}; known are 0 and 1")
        node_id = int(properties["broker.id" if version == 0 else "node.id"])
    except KeyError as error:
        raise CorruptFileError(path, f"{error.args[0]} is missing") from error
    except ValueError as error:
        raise CorruptFileError(path, str(error)) from error
    return MetaProperties(
        version, node_id, properties.get("cluster.id"), properties.get("directory.id")
    )


def encode_meta_properties(properties: MetaProperties, now_ms: int) -> bytes:
    """The file's text, in the order of Java's hash map."""
    directory_id = (
        [] if properties.directory_id is None else [f"directory.id={properties.directory_id}"]
    )
    cluster_id = [] if properties.cluster_id is None else [f"cluster.id={properties.cluster_id}"]
    version = [f"version={properties.version}"]
    node = [f"{'node.id' if properties.version else 'broker.id'}={properties.node_id}"]
    return "\n".join(
        ["#", f"#{_java_date(now_ms)}", *node, *directory_id, *version, *cluster_id, ""]
    ).encode()


def write_meta_properties(
    disk: Disk, log_dir: str, properties: MetaProperties, now_ms: int
) -> None:
    """Make the directory known as theirs; durable afterwards."""
    path = f"{log_dir}/{META_PROPERTIES_FILE}"
    replace_file(disk, path, encode_meta_properties(properties, now_ms))


def take_clean_shutdown_mark(disk: Disk, log_dir: str) -> int | None:
    """Broker epoch of the clean shutdown (-1 where unsaid), None after an unclean one.

    The mark is gone afterwards. Its existence decides, whatever it holds.
    """
    path = f"{log_dir}/{CLEAN_SHUTDOWN_FILE}"
    if not disk.exists(path):
        return None
    content = disk.read_file(path)
    disk.unlink(path)
    disk.fsync_dir(log_dir)
    return _broker_epoch(content)


def write_clean_shutdown_mark(
    disk: Disk, log_dir: str, broker_epoch: int = UNKNOWN_BROKER_EPOCH
) -> None:
    """Say that all logs below are flushed and closed; only after they are. Durable afterwards."""
    text = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
    replace_file(disk, f"{log_dir}/{CLEAN_SHUTDOWN_FILE}", text.encode())


def _broker_epoch(content: bytes) -> int:
    """The epoch in the mark; -1 for the marks of older brokers and anything else."""
    _, _, after = content.partition(b'"brokerEpoch":')
    digits = after.strip().rstrip(b"}").strip()
    try:
        return int(digits)
    except ValueError:
        return UNKNOWN_BROKER_EPOCH


def _java_date(now_ms: int) -> str:
    """As java.util.Date prints a time, in UTC: `Sat Nov 21 17:55:55 UTC 2026`."""
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{_WEEKDAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at:%d %H:%M:%S} UTC {at.year}"
