"""Taking possession of the log directories at start: locked, and known to be this broker's.

    open_directories   made if missing, locked; nothing else is written
    read_identity      whose they are, by meta.properties; any disagreement refuses the start
    write_identity     fresh directories get their meta.properties, once everything has agreed

A refusal is a `StartFailed` whose text is one line that names the remedy; nothing was overwritten.
"""

import errno
import logging
import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from runtime.disk import Disk
from storage.errors import CorruptFileError, StorageError
from storage.filenames import META_PROPERTIES_FILE
from storage.log_directory import DirectoryLocked, LogDirectory
from storage.log_dirs import MetaProperties, read_meta_properties, write_meta_properties

_log = logging.getLogger(__name__)

DEFAULT_NODE_ID: Final = 1
EMBEDDED_STORE_VERSION: Final = 1
"""Version of the meta.properties that name the node as `node.id`."""
_REMEDIES: Final = {
    errno.ENOSPC: "free some space on its disk",
    errno.EDQUOT: "free some of the quota on its disk",
    errno.EACCES: "give this user the right to read and write it",
    errno.EPERM: "give this user the right to read and write it",
    errno.EROFS: "its file system is mounted read-only: mount it writable",
    errno.ENOTDIR: "a part of this path is a file: name a directory in log.dirs",
    errno.EEXIST: "this path is a file: name a directory in log.dirs",
}


class StartFailed(Exception):
    """The broker cannot start; the text says why and what to do, in one line."""


class Identity(NamedTuple):
    """Whose the directories are; the cluster is None before the first start."""

    node_id: int
    cluster_id: str | None


def open_directories(paths: Sequence[str], disk: Disk) -> list[LogDirectory]:
    """All directories, locked; one that cannot be used is offline, unless it is the first.

    The first one holds the cluster's metadata. Raises StartFailed.
    """
    directories: list[LogDirectory] = []
    try:
        for path in paths:
            directory = LogDirectory(disk, os.path.abspath(path))
            _open(directory, is_first=not directories)
            directories.append(directory)
    except StartFailed:
        release(directories)
        raise
    return directories


def release(directories: Sequence[LogDirectory]) -> None:
    """Give the locks up after a start that failed."""
    for directory in directories:
        directory.release()


def _open(directory: LogDirectory, *, is_first: bool) -> None:
    try:
        directory.open()
        directory.disk.listdir(directory.path)
    except DirectoryLocked as error:
        raise StartFailed(
            f"{error} Stop that process, or point log.dirs at another directory."
        ) from error
    except StorageError as error:
        if is_first:
            raise storage_refusal(error) from error
        _log.error("Log directory %s is offline: %s", directory.path, error)
        directory.offline = True


def storage_refusal(error: StorageError) -> StartFailed:
    """One line about a directory that cannot be used, with the remedy that fits the cause."""
    cause = error.cause
    reason = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else str(cause)
    number = cause.errno if isinstance(cause, OSError) else None
    remedy = _REMEDIES.get(number or 0, "check its disk, or point log.dirs elsewhere")
    return StartFailed(f"cannot use log directory {error.directory}: {reason}; {remedy}")


def read_identity(
    directories: Sequence[LogDirectory], configured_node_id: int | None
) -> tuple[Identity, list[LogDirectory]]:
    """What meta.properties say, and the directories that have none yet. Raises StartFailed."""
    identities: dict[str, MetaProperties] = {}
    fresh: list[LogDirectory] = []
    for directory in directories:
        if directory.offline:
            continue
        try:
            found = read_meta_properties(directory.disk, directory.path)
        except CorruptFileError as error:
            raise StartFailed(f"{error}; restore this file from a backup") from error
        except StorageError as error:
            raise storage_refusal(error) from error
        if found is None:
            fresh.append(directory)
        else:
            identities[directory.path] = found
    _refuse_strangers(identities, configured_node_id)
    known = next(iter(identities.values()), None)
    if known is not None:
        return Identity(known.node_id, known.cluster_id), fresh
    node_id = DEFAULT_NODE_ID if configured_node_id is None else configured_node_id
    return Identity(node_id, None), fresh


def _refuse_strangers(
    identities: dict[str, MetaProperties], configured_node_id: int | None
) -> None:
    first: tuple[str, MetaProperties] | None = None
    for path, found in identities.items():
        if configured_node_id not in (None, found.node_id):
            raise StartFailed(
                f"{path}/{META_PROPERTIES_FILE} is of node {found.node_id}, the settings say"
                f" node.id={configured_node_id}: correct node.id, or point log.dirs at this"
                f" node's directory"
            )
        if first is None:
            first = path, found
            continue
        for what in ("node_id", "cluster_id"):
            if getattr(found, what) != getattr(first[1], what):
                raise StartFailed(
                    f"log directories disagree: {first[0]} has {what} {getattr(first[1], what)},"
                    f" {path} has {what} {getattr(found, what)}: take the foreign one out of"
                    f" log.dirs"
                )


def write_identity(
    fresh: Sequence[LogDirectory],
    identity: Identity,
    new_directory_id: Callable[[], str],
    now_ms: int,
) -> None:
    """Mark fresh directories as this node's and cluster's. Raises StartFailed."""
    for directory in fresh:
        properties = MetaProperties(
            EMBEDDED_STORE_VERSION, identity.node_id, identity.cluster_id, new_directory_id()
        )
        try:
            write_meta_properties(directory.disk, directory.path, properties, now_ms)
        except StorageError as error:
            raise storage_refusal(error) from error


def partition_directories(directories: Sequence[LogDirectory]) -> list[str]:
    """The paths of all partition directories, for the check against the metadata store."""
    return [
        f"{directory.path}/{name}"
        for directory in directories
        if not directory.offline
        for _, name in directory.discover().live
    ]
