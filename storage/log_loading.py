"""Finding the logs of a log directory at start, one task a log.

    survey()    on one thread: clean mark taken, checkpoints read, directories matched with metadata
    LoadTask()  in any thread: one log opened, or recovered after an unclean stop

Nothing is renamed or removed here but what a crash left half deleted inside a log that is loaded.
A directory that metadata does not name, or names with another topic id, is reported and left alone.
One without a topic id gets it once it is loaded: `storage.moving.resuming` has to let it.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from config.topic_config import LogConfig
from protocol.model import ZERO_TOPIC_ID, TopicPartition, topic_id_to_text
from storage.damaged_logs import Damage
from storage.errors import CorruptFileError, DamagedLog, StorageError
from storage.filenames import FUTURE, LOG, parse_segment_file_name, segment_path
from storage.load_orders import LoadOrder, LoadOutcome
from storage.log.environment import LogEnvironment, LogIdentity
from storage.log.partition_log import PartitionLog
from storage.log.recovery import Checkpoints, LoadClock, LoadedLog, load_log
from storage.log_directory import LogDirectory
from storage.partition_metadata import read_topic_id, write_topic_id
from storage.reused_names import NOTHING_KNOWN, known_instead, mark_newer, remove_mark
from storage.segment.recovery import Watch, unwatched
from storage.unclosed_logs import forget_unclosed, keep_unclosed, unclosed_since

logger = logging.getLogger(__name__)

ExpectedTopicId = Callable[[TopicPartition], bytes | None]
ConfigOfTopic = Callable[[str], LogConfig]


class UnservedDirectory(NamedTuple):
    """A partition directory that was left as it is; `topic_id` is None where it names none."""

    path: str
    topic_partition: TopicPartition
    topic_id: bytes | None
    reason: str


class Extent(NamedTuple):
    """What a recovery has to read through: segments and their bytes."""

    segments: int
    nbytes: int


NO_EXTENT: Final = Extent(0, 0)


class LoadTask:
    """The loading of one log: call it in any thread, take `log()` on the loop."""

    __slots__ = (
        "_config",
        "_environment",
        "_loaded",
        "_now_ms",
        "begun",
        "checkpoints",
        "damage",
        "directory",
        "error",
        "identity",
        "is_unnamed",
    )

    def __init__(
        self,
        directory: LogDirectory,
        identity: LogIdentity,
        config: LogConfig,
        environment: LogEnvironment,
        checkpoints: Checkpoints,
        now_ms: int,
    ) -> None:
        self.directory = directory
        self.identity = identity
        self.error: StorageError | None = None
        self.damage: DamagedLog | None = None
        self.is_unnamed = False
        """Whether a power cut took the topic id from the directory, or none was ever there."""
        self.begun = False
        self._config = config
        self._environment = environment
        self.checkpoints = checkpoints
        self._now_ms = now_ms
        self._loaded: LoadedLog | None = None

    @property
    def is_future(self) -> bool:
        """Whether this is the copy of a log that is being moved here."""
        return self.identity.directory.endswith(FUTURE)

    @property
    def recovers(self) -> bool:
        """Whether the log was not closed cleanly."""
        return not self.checkpoints.clean

    @property
    def changed_files(self) -> bool:
        """Whether loading failed, or left files that a clean shutdown would have to sync."""
        if self.damage is not None:
            return False
        return self.begun and (self._loaded is None or self._loaded.is_new)

    def __call__(self, watch: Watch = unwatched) -> None:
        """Load the log; a failure is kept in `error`, what is wrong with the log in `damage`.

        `watch` is told of bytes read, and may raise to give the loading up.
        """
        self.begun = True
        try:
            self._loaded = load_log(
                self.directory.disk,
                self.identity,
                self._config,
                self._environment,
                self.checkpoints,
                LoadClock(self._now_ms, watch),
            )
        except StorageError as error:
            self.error = error
        except DamagedLog as damage:
            self.damage = damage

    # In another process.

    def measure(self) -> Extent:
        """How much there is to read through; in any thread. Nothing where it is unknown."""
        disk, directory = self.directory.disk, self.identity.directory
        if not self.recovers:
            return NO_EXTENT
        try:
            names = filter(None, map(parse_segment_file_name, disk.listdir(directory)))
            bases = sorted(
                file.base_offset for file in names if file.kind == LOG and not file.suffix
            )
            first = max(bisect_right(bases, self.checkpoints.recovery_point) - 1, 0)
            sizes = [disk.file_size(segment_path(directory, base, LOG)) for base in bases[first:]]
        except StorageError:
            return NO_EXTENT  # loading it will tell
        return Extent(len(sizes), sum(sizes))

    def order(self) -> LoadOrder:
        """The same loading for another process; `take` has to follow."""
        self.begun = True
        return LoadOrder(
            self.identity,
            self._config,
            self.checkpoints,
            self._now_ms,
            self._environment.producer_id_expiration_ms(),
        )

    def take(self, outcome: LoadOutcome) -> None:
        """What came of the order."""
        self.error, self.damage = outcome.error, outcome.damage
        if outcome.parcel:
            from storage.log.parcel import unpack

            self._loaded = unpack(outcome.parcel, self.directory.disk, self._environment.pool)

    # Once all is known of it.

    def take_over(self) -> None:
        """Write the topic id that metadata has where there is none; StorageError if that fails.

        Such a log was never flushed, so what checkpoints say of the name is about a predecessor:
        the mark that says so comes first. Stopped before, a start finds what this one did.
        """
        disk, path = self.directory.disk, self.identity.directory
        if self.is_unnamed:
            if self.recovers:
                mark_newer(disk, path)
            write_topic_id(disk, path, self.identity.topic_id)
        forget_unclosed(disk, path)

    def leave_alone(self) -> None:
        """The log is not served after all; StorageError if that cannot be remembered."""
        if self.recovers:
            keep_unclosed(self.directory.disk, self.directory.path, self.identity.directory)

    def log(self) -> PartitionLog:
        """The log that was loaded without an error."""
        assert self._loaded is not None, self.identity
        disk = self.directory.disk
        loaded, now_ms = self._loaded, self._now_ms
        log = PartitionLog(disk, self.identity, self._config, self._environment, loaded, now_ms)
        log.first_dirty_offset = self.checkpoints.first_dirty_offset
        return log


class LoadReport(NamedTuple):
    """What a start found.

    `offline` are the directories that failed, `damaged` the logs that are not served.
    """

    loaded: int
    recovered: int
    unserved: list[UnservedDirectory]
    offline: list[str]
    damaged: list[Damage]


class Survey(NamedTuple):
    """What one directory holds: logs to load, directories left alone, leftovers of deletions.

    `kept_offsets` are the checkpoint entries (recovery points, log starts, high watermarks) of
    directories left alone; `doubted` are names whose entries are of logs that are gone.
    """

    tasks: list[LoadTask]
    unserved: list[UnservedDirectory]
    deleted: list[str]
    kept_offsets: tuple[
        dict[TopicPartition, int], dict[TopicPartition, int], dict[TopicPartition, int]
    ]
    doubted: set[TopicPartition]


def survey(
    directory: LogDirectory,
    environment: LogEnvironment,
    config_of: ConfigOfTopic,
    expected: ExpectedTopicId,
    now_ms: int,
) -> Survey:
    """Take the clean mark and list what there is to load; StorageError if the directory fails.

    `expected` answers the topic id metadata has for a partition of this broker, None for unknown.
    """
    clean = directory.take_clean_mark()
    directory.find_power_cut()
    points = directory.read_checkpoint(directory.recovery_points)
    starts = directory.read_checkpoint(directory.log_starts)
    marks = directory.read_checkpoint(directory.high_watermarks)
    dirty = directory.read_checkpoint(directory.cleaner_offsets)
    found = directory.discover()
    tasks: list[LoadTask] = []
    unserved: list[UnservedDirectory] = []
    doubted = points.keys() | starts.keys() | marks.keys() | dirty.keys()
    for partition, name in (*found.live, *found.futures):
        path = f"{directory.path}/{name}"
        topic_id, wanted = _read_topic_id(directory, path), expected(partition)
        reason = _why_not(topic_id, wanted)
        doubted.discard(partition)
        if reason is not None:
            logger.warning("Left as it is: %s (%s)", path, reason)
            unserved.append(UnservedDirectory(path, partition, topic_id, reason))
            if not clean:
                keep_unclosed(directory.disk, directory.path, path)
            continue
        identity = LogIdentity(partition, wanted or ZERO_TOPIC_ID, path, directory.path)
        is_unnamed = topic_id is None and wanted != ZERO_TOPIC_ID
        said = Checkpoints(
            clean,
            points.get(partition, 0),
            starts.get(partition, 0),
            marks.get(partition, 0),
            dirty.get(partition, -1),
            directory.lost_power,
        )
        checkpoints, is_doubted = _judge(directory, path, said, is_unnamed=is_unnamed)
        if is_doubted:
            doubted.add(partition)
        config = config_of(partition.topic)
        task = LoadTask(directory, identity, config, environment, checkpoints, now_ms)
        task.is_unnamed = is_unnamed
        tasks.append(task)
    left = {stranger.topic_partition for stranger in unserved}
    kept = tuple(
        {partition: offset for partition, offset in offsets.items() if partition in left}
        for offsets in (points, starts, marks)
    )
    return Survey(tasks, unserved, found.deleted, (kept[0], kept[1], kept[2]), doubted)


def _judge(
    directory: LogDirectory, path: str, said: Checkpoints, *, is_unnamed: bool
) -> tuple[Checkpoints, bool]:
    """What is known of a log, and whether the files of its log directory are not believed."""
    disk = directory.disk
    since = unclosed_since(disk, path)
    if since is not None:
        said = said._replace(clean=False, lost_power=directory.has_rebooted_since(since))
    if said.clean:
        remove_mark(disk, path)
        return said, False
    instead = NOTHING_KNOWN if is_unnamed else known_instead(disk, path)
    if instead is None:
        return said, False
    logger.info("%s is newer than the checkpoints, which are not believed about it", path)
    return Checkpoints(False, *instead, lost_power=said.lost_power), True


def _read_topic_id(directory: LogDirectory, path: str) -> bytes | None:
    try:
        return read_topic_id(directory.disk, path)
    except CorruptFileError as error:
        logger.warning("Unreadable identity: %s", error)
        return None


def _why_not(topic_id: bytes | None, expected: bytes | None) -> str | None:
    """Why a directory of this id is not to be served; None if it may be."""
    if expected is None:
        return "metadata does not know it"
    if topic_id is None or topic_id == expected:
        return None
    return (
        f"it belongs to topic id {topic_id_to_text(topic_id)}, "
        f"metadata has {topic_id_to_text(expected)}"
    )
