"""What the commands on files have in common: which directories are meant, whether a broker runs on
them, what their metadata store says. Nothing here writes into a data directory.

A running broker holds record locks on `.lock`, as Kafka does; the kernel is asked who holds one,
which takes none. The metadata store is looked at in a copy elsewhere: even a reader of SQLite's
write-ahead log would make files beside it.
"""

import fcntl
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from storage.filenames import LIVE, LOCK_FILE, LOG, parse_partition_directory_name

_FLOCK = struct.Struct("hhqqi")  # l_type, l_whence, l_start, l_len, l_pid of Linux on 64 bits


class Chosen(NamedTuple):
    """Log directories of one broker, and partition directories that were named by themselves."""

    log_dirs: list[str]
    partitions: list[str]

    @property
    def parents(self) -> list[str]:
        """Every log directory that is looked into, named or not."""
        above = [str(Path(path).parent) for path in self.partitions]
        return list(dict.fromkeys([*self.log_dirs, *above]))


class TopicMetadata(NamedTuple):
    """What a metadata store says of topics: ids, and settings that were given."""

    ids: dict[str, bytes]
    configs: dict[str, dict[str, str]]

    @property
    def compacted(self) -> dict[str, bool]:
        """Whether offsets of each topic may have gaps, going by its own cleanup.policy."""
        return {
            topic: "compact" in self.configs.get(topic, {}).get("cleanup.policy", "delete")
            for topic in self.ids
        }


UNKNOWN = TopicMetadata({}, {})


def choose(paths: Sequence[Path]) -> Chosen:
    """Tell log directories from partition directories: those hold segments, or have a live name."""
    chosen = Chosen([], [])
    for path in paths:
        resolved = Path(os.path.abspath(path))
        is_partition = any(resolved.glob(f"*{LOG}")) or (
            is_live_partition(resolved.name)
            and not any(child.is_dir() for child in resolved.iterdir())
        )
        (chosen.partitions if is_partition else chosen.log_dirs).append(str(resolved))
    return chosen


def is_live_partition(name: str) -> bool:
    """Whether a directory of this name holds a replica in use."""
    parsed = parse_partition_directory_name(name)
    return parsed is not None and parsed.state == LIVE


def broker_running_on(log_dirs: Sequence[str]) -> int | None:
    """Process id of a broker that works in one of these directories; None if none does."""
    for log_dir in log_dirs:
        try:
            fd = os.open(f"{log_dir}/{LOCK_FILE}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            asked = _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            kind, *_, holder = _FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked))
        except OSError:
            continue  # a file system without locks
        finally:
            os.close(fd)
        if kind != fcntl.F_UNLCK:
            return int(holder)
    return None


def topic_metadata(log_dirs: Sequence[str]) -> TopicMetadata:
    """What the embedded store in one of these directories says; nothing where none can be read."""
    from cluster.store.embedded import STORE_FILE

    for log_dir in log_dirs:
        file = Path(log_dir) / STORE_FILE
        if file.is_file():
            with tempfile.TemporaryDirectory() as folder:
                for part in (file, file.with_name(f"{STORE_FILE}-wal")):
                    if part.is_file():
                        shutil.copy(part, folder)
                return _read_store(Path(folder) / STORE_FILE)
    return UNKNOWN


def store_rows(file: Path) -> list[tuple[str, str, bytes | None]]:
    """(path, kind of data as text, data) of every node of a copied store; DatabaseError if it is
    none.
    """
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        rows = connection.execute("SELECT parent, name, data FROM node ORDER BY parent, name")
        return [(f"{parent}/{name}", name, data) for parent, name, data in rows]


def _read_store(copy: Path) -> TopicMetadata:
    from sqlite3 import DatabaseError

    from cluster import znodes

    ids: dict[str, bytes] = {}
    configs: dict[str, dict[str, str]] = {}
    try:
        for path, name, data in store_rows(copy):
            parent = path.rpartition("/")[0]
            if parent == znodes.TOPICS:
                ids[name] = znodes.decode_topic(data).topic_id
            elif parent == f"{znodes.CONFIG}/topics":
                configs[name] = znodes.decode_config(data)
    except (DatabaseError, ValueError, KeyError) as error:
        click.echo(f"the metadata store cannot be read, so it is left out: {error}", err=True)
        return UNKNOWN
    return TopicMetadata(ids, configs)


def quiet_pipe(function: Any) -> Any:
    """A command whose reader may go away: `| head` ends it without a word."""
    import functools

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # What is left in the buffer must not be tried again when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None

    return call
