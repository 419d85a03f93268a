"""What moving a data directory in and out has in common: whose it is, and how a refusal is told."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from broker.data_directories import (
    Identity,
    StartFailed,
    open_directories,
    read_identity,
    release,
)
from cli.output import print_json
from cluster.kafka_metadata.kraft_log import METADATA_DIRECTORY
from cluster.store.embedded import STORE_FILE
from cluster.store.port import StartupRefused, StoreError
from runtime.disk import OsDisk
from storage.errors import CorruptFileError, StorageError
from storage.log_directory import LogDirectory
from storage.log_dirs import read_meta_properties


class Opened(NamedTuple):
    """Log directories of one stopped broker, locked; the first has or gets the metadata store."""

    directories: list[LogDirectory]
    identity: Identity

    @property
    def store_file(self) -> str:
        """The embedded store's path."""
        return f"{self.directories[0].path}/{STORE_FILE}"


@contextmanager
def opened(paths: Sequence[str]) -> Iterator[Opened]:
    """The directories, until the end of the block; one line of error for whatever is in the way."""
    directories: list[LogDirectory] = []
    try:
        directories = open_directories(paths, OsDisk())
        identity, fresh = read_identity(directories, None)
        lost = [one.path for one in directories if one.offline]
        if fresh or lost:
            text = "cannot be read" if lost else "has no meta.properties: it is no log directory"
            raise click.ClickException(f"{(lost or [one.path for one in fresh])[0]} {text}")
        others = [one for one in directories[1:] if one.disk.exists(f"{one.path}/{STORE_FILE}")]
        if others:
            raise click.ClickException(
                f"{others[0].path} has the metadata store: name it first, as Tidelog was given it"
            )
        yield Opened(directories, identity)
    except (StartFailed, StartupRefused, StoreError, StorageError, CorruptFileError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        release(directories)


def find_kraft(opened_: Opened, metadata_dir: str | None) -> str | None:
    """The directory with Kafka's own metadata log; None where there is none.

    A ClickException where the one named has none, or one of another cluster.
    """
    disk = opened_.directories[0].disk
    if metadata_dir is None:
        paths = [directory.path for directory in opened_.directories]
        return next((path for path in paths if disk.isdir(f"{path}/{METADATA_DIRECTORY}")), None)
    found = metadata_dir.removesuffix(f"/{METADATA_DIRECTORY}")
    if not disk.isdir(f"{found}/{METADATA_DIRECTORY}"):
        raise click.ClickException(f"{metadata_dir} has no {METADATA_DIRECTORY}")
    theirs = read_meta_properties(disk, found)
    if theirs is not None and theirs.cluster_id != opened_.identity.cluster_id:
        raise click.ClickException(
            f"{found} is of cluster {theirs.cluster_id}, {opened_.directories[0].path} of"
            f" {opened_.identity.cluster_id}"
        )
    return found


def refuse(reasons: Sequence[str], remedy: str, as_json: bool, document: dict[str, Any]) -> None:
    """End with every reason told, if there is any; nothing was changed."""
    if not reasons:
        return
    if as_json:
        print_json({**document, "done": False, "refusals": list(reasons)})
        raise SystemExit(1)
    lines = "\n".join(f"  {reason}" for reason in reasons)
    raise click.ClickException(f"{remedy}\n{lines}")
