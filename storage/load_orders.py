"""The loading of one log as a value that another process can carry out.

    task.order()  →  execute(order, disk, watch)  →  task.take(outcome)

Source: LogManager.loadLogs, which does this with threads.
"""

from typing import NamedTuple, NoReturn

from config.topic_config import LogConfig
from runtime.disk import Disk
from storage.errors import DamagedLog, StorageError
from storage.log.environment import LogEnvironment, LogIdentity
from storage.log.recovery import Checkpoints, LoadClock, load_log
from storage.log_dir_disk import LogDirDisk
from storage.segment.file_records import FilePool
from storage.segment.recovery import Watch

_OPEN_FILES = 16


class LoadOrder(NamedTuple):
    """What log to load, and all that has to be known for it."""

    identity: LogIdentity
    config: LogConfig
    checkpoints: Checkpoints
    now_ms: int
    producer_id_expiration_ms: int


class LoadOutcome(NamedTuple):
    """The loaded log as `storage.log.parcel` packs it, or why there is none."""

    parcel: bytes
    error: StorageError | None = None
    damage: DamagedLog | None = None


def execute(order: LoadOrder, disk: Disk, watch: Watch) -> LoadOutcome:
    """Load a log that nobody else works on; what `watch` raises gives it up."""
    from storage.log.parcel import pack

    own_disk = LogDirDisk(disk, order.identity.log_dir)
    environment = LogEnvironment(
        FilePool(_OPEN_FILES), _nothing_by_chance, _no_name, lambda: order.producer_id_expiration_ms
    )
    clock = LoadClock(order.now_ms, watch)
    try:
        loaded = load_log(
            own_disk, order.identity, order.config, environment, order.checkpoints, clock
        )
    except StorageError as error:
        return LoadOutcome(b"", error=error)
    except DamagedLog as damage:
        return LoadOutcome(b"", damage=damage)
    return LoadOutcome(pack(loaded, own_disk, environment.pool))


def _nothing_by_chance(_bound: int) -> NoReturn:
    raise AssertionError("loading a log leaves nothing to chance")


def _no_name() -> NoReturn:
    raise AssertionError("loading a log makes no names")
