"""Opening a log at start: from its files to its segments, offsets, epochs and producers.

After a clean shutdown the files are trusted; only the tail of the last segment is walked, to find
the log end. Otherwise every segment from the one that holds the recovery point on is read through
(`storage.segment.recovery`): at the first batch that is not whole and right the log ends, and later
segments are dropped; so they are where a power cut took the records before them. Below the
recovery point everything was durable, and is trusted in both cases, unless an index file is missing
or cannot be right: then recovery begins with that segment. So it does where a roll at the recovery
point was not flushed, and the time index below it lacks its closing entry.

What was durable is never cut off: where it is not what it was, after a clean shutdown or below the
recovery point, loading ends in DamagedLog with the files as they are, and the log is not served.

    end < checkpointed log start      the records are lost: all segments dropped, begin at log start
    log start                         the checkpoint's, not below the first segment's base
    recovery point                    the checkpoint's, not beyond the log end
    high watermark                    the checkpoint's, within [log start, log end]

Any thread may run it: nobody knows the log yet. Source: LogLoader.java (3.9, 4.3).
"""

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from protocol.records.errors import CorruptBatch, MalformedRecords
from runtime.disk import Disk
from storage.epochs import LeaderEpochCache
from storage.errors import CorruptFileError, DamagedLog
from storage.filenames import LOG
from storage.log.environment import LogEnvironment, LogIdentity
from storage.log.segments import Segments
from storage.log.splitting import split_overflowed
from storage.log.tidying import tidy
from storage.producer.state import ProducerState
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.recovery import (
    Promise,
    Recovery,
    SegmentOverflow,
    Watch,
    cut_tail,
    ends_too_early,
    only_zeros,
    read_through,
    replay_batch,
    unwatched,
)
from storage.segment.segment import Segment
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

logger = logging.getLogger(__name__)


class Checkpoints(NamedTuple):
    """What is known of a log from the files of its log directory; 0 where nothing is.

    `first_dirty_offset` is where its last cleaning ended, -1 if it was never cleaned; `lost_power`
    is known to be so of the machine, after a broker of ours wrote the log and was not stopped.
    """

    clean: bool
    recovery_point: int
    log_start_offset: int
    high_watermark: int
    first_dirty_offset: int = -1
    lost_power: bool = False

    def keep(self, partition: TopicPartition, kept: Sequence[dict[TopicPartition, int]]) -> None:
        """Have recovery point, log start and high watermark written again as they are."""
        for offsets, offset in zip(kept, self[1:4], strict=True):
            offsets[partition] = offset


class LoadClock(NamedTuple):
    """When a log is loaded, and who follows how much of it was read."""

    now_ms: int
    watch: Watch = unwatched


class LoadedLog(NamedTuple):
    """The parts of an open log.

    `is_new`: its directory and identity may not be durable; `snapshots` are paths that are not.
    """

    segments: Segments
    epochs: LeaderEpochCache
    producers: ProducerState
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    high_watermark: int
    is_new: bool
    snapshots: tuple[str, ...] = ()


def segment_settings(config: LogConfig) -> SegmentSettings:
    """How new segments of a topic are kept."""
    return SegmentSettings(
        config.index_interval_bytes,
        config.segment_index_bytes,
        config.segment_bytes if config.preallocate else 0,
    )


def create_log(
    disk: Disk, identity: LogIdentity, config: LogConfig, environment: LogEnvironment, now_ms: int
) -> LoadedLog:
    """A log that begins at 0, in a directory that is there and empty."""
    loader = _Loader(disk, identity, config, environment, now_ms)
    segments = Segments([loader.new_segment(0)])
    return LoadedLog(segments, loader.epochs, loader.producers, 0, 0, 0, 0, is_new=True)


def load_log(
    disk: Disk,
    identity: LogIdentity,
    config: LogConfig,
    environment: LogEnvironment,
    checkpoints: Checkpoints,
    clock: LoadClock,
) -> LoadedLog:
    """Open the log of a directory.

    StorageError if the disk fails, DamagedLog where records that were durable are not there; what
    the watch raises gives a recovery up, and leaves nothing that a next one would not do again.
    """
    loader = _Loader(disk, identity, config, environment, clock.now_ms, clock.watch)
    return loader.load(checkpoints)


class _Loader:
    """The state of one loading."""

    def __init__(
        self,
        disk: Disk,
        identity: LogIdentity,
        config: LogConfig,
        environment: LogEnvironment,
        now_ms: int,
        watch: Watch = unwatched,
    ) -> None:
        self._disk = disk
        self._directory = identity.directory
        self._topic_partition: TopicPartition = identity.topic_partition
        self._prefix = f"[LogLoader partition={identity.topic_partition}, dir={identity.log_dir}]"
        self._files = SegmentFiles(disk, environment.pool)
        self._settings = segment_settings(config)
        self._compact = config.compact
        self._expiration_ms = environment.producer_id_expiration_ms
        self._now_ms = now_ms
        self._watch = watch
        self._snapshots: list[str] = []
        self.epochs = LeaderEpochCache(disk, identity.directory)
        self.producers = ProducerState(disk, identity.directory, identity.topic_partition)

    def new_segment(self, base_offset: int) -> Segment:
        """An empty segment with files of its own."""
        return self._open(base_offset, existing=False)

    def load(self, checkpoints: Checkpoints) -> LoadedLog:
        """See the module."""
        while True:
            try:
                return self._load(checkpoints)
            except SegmentOverflow as overflow:
                parts = split_overflowed(self._disk, self._directory, overflow.base_offset)
                logger.warning(
                    "%s Split overflowed segment %d into segments %s",
                    self._prefix,
                    overflow.base_offset,
                    parts,
                )

    def _load(self, checkpoints: Checkpoints) -> LoadedLog:
        found = tidy(self._disk, self._directory)
        self._snapshots = []
        self.epochs = LeaderEpochCache(self._disk, self._directory)
        self.producers = ProducerState(
            self._disk, self._directory, self._topic_partition, found.snapshots
        )
        try:
            self.epochs.load()
        except CorruptFileError as error:
            logger.warning("%s Ignoring damaged leader epochs: %s", self._prefix, error)
        if not found.base_offsets:
            self._check_end(self._directory, 0, 0, checkpoints)
            return self._start_over(checkpoints.log_start_offset, checkpoints)
        segments = [self._open(base, existing=True) for base in found.base_offsets]
        self.producers.remove_stray_snapshots(found.base_offsets)
        start_offset = max(checkpoints.log_start_offset, found.base_offsets[0])
        suspect = self._first_suspect(segments, checkpoints, found.unindexed)
        if suspect is None:
            end_offset = self._find_end(segments)
        else:
            segments, end_offset = self._recover(segments, suspect, start_offset, checkpoints)
        last = segments[-1]
        self._check_end(last.path(LOG), last.size, end_offset, checkpoints)
        if end_offset < start_offset:
            logger.warning(
                "%s Deleting all segments because logEndOffset (%d) has become smaller than "
                "logStartOffset (%d).",
                self._prefix,
                end_offset,
                start_offset,
            )
            for segment in segments:
                segment.delete_files()
            return self._start_over(start_offset, checkpoints)
        if suspect is None:
            self._load_producers(segments, start_offset, end_offset, clean=checkpoints.clean)
        else:
            vouched = min(checkpoints.recovery_point, found.base_offsets[suspect])
            checkpoints = checkpoints._replace(recovery_point=vouched)
        return self._loaded(
            segments, start_offset, end_offset, checkpoints, is_new=suspect is not None
        )

    def _find_end(self, segments: list[Segment]) -> int:
        """The log end after a clean shutdown; DamagedLog if the last segment does not end there."""
        for segment, following in pairwise(segments):
            if following.base_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                self._check_range(segment)
        last = segments[-1]
        path = last.path(LOG)
        end_position = last.read_end()
        if end_position < last.size:
            if not self._is_padding(path, end_position, last.size):
                raise DamagedLog(path, end_position, "no whole batch begins here")
            last.trim_preallocated(end_position)
        self._check_range(last)
        return last.read_next_offset()

    def _is_padding(self, path: str, position: int, end_position: int) -> bool:
        fd = self._disk.open(path, writable=False)
        try:
            return only_zeros(
                lambda size, at: self._disk.pread(fd, size, at), position, end_position
            )
        finally:
            self._disk.close(fd)

    @staticmethod
    def _check_range(segment: Segment) -> None:
        """SegmentOverflow if the segment's offsets do not fit its indexes."""
        if segment.read_next_offset() - 1 - segment.base_offset > MAX_RELATIVE_OFFSET:
            raise SegmentOverflow(segment.base_offset)

    def _check_end(
        self, path: str, position: int, end_offset: int, checkpoints: Checkpoints
    ) -> None:
        """Records that were durable must be there still: DamagedLog after a clean shutdown.

        After an unclean one a truncation may have taken them that no checkpoint knows of yet.
        """
        promised = checkpoints.recovery_point
        if end_offset >= promised:
            return
        damage = ends_too_early(path, position, end_offset, promised)
        if checkpoints.clean:
            raise damage
        logger.error("%s %s", self._prefix, damage)

    def _open(self, base_offset: int, *, existing: bool) -> Segment:
        return Segment.open(
            self._files,
            self._directory,
            base_offset,
            self._settings,
            self._now_ms,
            existing=existing,
        )

    def _start_over(self, offset: int, checkpoints: Checkpoints) -> LoadedLog:
        self.producers.truncate_fully_and_start_at(offset)
        self.epochs.clear()
        segments = [self.new_segment(offset)]
        return self._loaded(segments, offset, offset, checkpoints, is_new=True)

    def _loaded(
        self,
        segments: list[Segment],
        start_offset: int,
        end_offset: int,
        checkpoints: Checkpoints,
        *,
        is_new: bool,
    ) -> LoadedLog:
        self.epochs.truncate_from_end(end_offset)
        self.epochs.truncate_from_start(start_offset)
        mark = min(max(checkpoints.high_watermark, start_offset), end_offset)
        self.producers.map_end_offset = end_offset
        self.producers.on_high_watermark(mark)
        return LoadedLog(
            Segments(segments),
            self.epochs,
            self.producers,
            start_offset,
            end_offset,
            min(checkpoints.recovery_point, end_offset),
            mark,
            is_new,
            tuple(self._snapshots),
        )

    def _first_suspect(
        self, segments: list[Segment], checkpoints: Checkpoints, unindexed: frozenset[int]
    ) -> int | None:
        """Slot of the first segment to be read through; None if all are trusted.

        Where not even the shutdown was clean the indexes of those before are looked at too. The
        last segment's are in any case: they say where to begin looking for the log end.
        """
        last = len(segments) - 1
        suspect = None
        looked_at = range(last, last + 1)
        if not checkpoints.clean:
            suspect = 0
            for slot, segment in enumerate(segments):
                if segment.base_offset <= checkpoints.recovery_point:
                    suspect = slot
            suspect -= self._was_just_rolled(segments[: suspect + 1], checkpoints)
            looked_at = range(suspect)
        for slot, segment in enumerate(segments):
            is_whole = segment.base_offset not in unindexed or (slot == last and not segment.size)
            looked = slot in looked_at and segment.size
            if not is_whole or (looked and not self._has_sound_indexes(segment)):
                return slot if suspect is None else min(slot, suspect)
        return suspect

    @staticmethod
    def _was_just_rolled(segments: list[Segment], checkpoints: Checkpoints) -> bool:
        """Whether the last of these begins at the recovery point, and the one before is not closed.

        All of that one was durable before the roll, but for the time entry that a roll adds. Its
        flush may not have come: retention would take the segment for older than it is.
        """
        if len(segments) < 2 or segments[-1].base_offset != checkpoints.recovery_point:
            return False
        return segments[-2].size > 0 and not segments[-2].is_closed()

    def _has_sound_indexes(self, segment: Segment) -> bool:
        try:
            segment.sanity_check()
        except CorruptFileError as error:
            logger.warning(
                "%s Rebuilding the indexes of segment %d: %s",
                self._prefix,
                segment.base_offset,
                error,
            )
            return False
        return True

    def _recover(
        self, segments: list[Segment], first: int, start_offset: int, checkpoints: Checkpoints
    ) -> tuple[list[Segment], int]:
        """Read the segments from a slot on through; those that remain, and the log end."""
        self.epochs.truncate_from_end(segments[first].base_offset)
        self._load_producers(
            segments[:first], start_offset, segments[first].base_offset, clean=False
        )
        end_offset = segments[first].base_offset
        # What the last process wrote may be in the kernel's care only.
        snapshots = self.producers.snapshot_offsets
        self._snapshots += [
            self.producers.snapshot_path(at) for at in snapshots if at >= end_offset
        ]
        for slot in range(first, len(segments)):
            segment = segments[slot]
            logger.info("%s Recovering unflushed segment %d", self._prefix, segment.base_offset)
            self.producers.map_end_offset = segment.base_offset
            if slot > first:
                snapshot = self.producers.take_snapshot(sync=False)
                if snapshot is not None:
                    self._snapshots.append(snapshot)
            is_last = slot == len(segments) - 1
            following = 0 if is_last else segments[slot + 1].base_offset
            promised = checkpoints.recovery_point
            promise = Promise(checkpoints.clean, promised, max(following, promised), is_last)
            recovery = read_through(
                self._disk, segment, self.producers, self.epochs, promise, self._watch
            )
            end_offset = max(recovery.next_offset, segment.base_offset)
            lacking = not is_last and self._lacks_records(end_offset, following, checkpoints)
            if lacking and not recovery.truncated_bytes:
                reason = f"offsets {end_offset} to {following - 1} never reached the disk"
                recovery = recovery._replace(reason=reason)
            if recovery.truncated_bytes or lacking:
                self._tell_of_cut(recovery, segments[slot:], checkpoints)
                self._drop(segments[slot + 1 :])
                cut_tail(self._disk, segment, recovery)
                return segments[: slot + 1], end_offset
        return segments, end_offset

    def _lacks_records(self, end_offset: int, following: int, checkpoints: Checkpoints) -> bool:
        """Whether a power cut took the end of a segment, and the segment after it survived.

        Kafka keeps such a log, with a hole that no reader notices and no follower fills. So do we
        where a hole may be natural: where compaction was at work, where records were durable so
        far, and wherever the machine is not known to have lost any: segments of Kafka's begin
        behind a gap, and after the mere end of a process nothing is missing.
        """
        if end_offset >= following or checkpoints.clean:
            return False
        never_cleaned = not self._compact and checkpoints.first_dirty_offset < 0
        unflushed = end_offset >= checkpoints.recovery_point
        if never_cleaned and unflushed and not checkpoints.lost_power:
            logger.warning(
                "%s No records at offsets %d to %d, between two segments; both are kept",
                self._prefix,
                end_offset,
                following - 1,
            )
        return never_cleaned and unflushed and checkpoints.lost_power

    def _tell_of_cut(
        self, recovery: Recovery, segments: list[Segment], checkpoints: Checkpoints
    ) -> None:
        """Log what was taken off the end of the first of these segments, and that the others go."""
        lost = recovery.next_offset < checkpoints.high_watermark
        logger.log(
            logging.ERROR if lost else logging.WARNING,
            "%s Corruption found in segment %d, truncating to offset %d: %d bytes after %d batches "
            "cut off, %d later segments with %d bytes dropped%s: %s",
            self._prefix,
            segments[0].base_offset,
            recovery.next_offset,
            recovery.truncated_bytes,
            recovery.batches,
            len(segments) - 1,
            sum(segment.size for segment in segments[1:]),
            f", all below high watermark {checkpoints.high_watermark}" if lost else "",
            recovery.reason or "the last batch is incomplete",
        )

    def _drop(self, segments: list[Segment]) -> None:
        """Remove segments that follow a cut, the last one first."""
        for segment in reversed(segments):
            logger.warning("%s Deleting unflushed segment %d", self._prefix, segment.base_offset)
            segment.delete_files()

    def _load_producers(
        self, segments: list[Segment], start_offset: int, end_offset: int, *, clean: bool
    ) -> None:
        """Bring producers to end_offset: by the newest snapshot, then the batches after it."""
        producers = self.producers
        if clean and not producers.snapshot_offsets:
            producers.map_end_offset = end_offset
            return
        level = logging.DEBUG if clean else logging.INFO
        logger.log(level, "%s Loading producer state till offset %d", self._prefix, end_offset)
        producers.truncate_and_reload(start_offset, end_offset, self._now_ms, self._expiration_ms())
        try:
            replay(producers, segments, end_offset)
        except (CorruptBatch, MalformedRecords) as error:
            reason = f"no producers to be read after offset {producers.map_end_offset}: {error}"
            raise DamagedLog(self._directory, 0, reason) from error


def replay(producers: ProducerState, segments: list[Segment], end_offset: int) -> None:
    """Bring producers from where they stand to end_offset by the batches in these segments."""
    for slot, segment in enumerate(segments):
        following = segments[slot + 1].base_offset if slot + 1 < len(segments) else end_offset
        if following <= producers.map_end_offset:
            continue
        for batch in segment.scan_batches(max(producers.map_end_offset, segment.base_offset)):
            if batch.base_offset >= end_offset:
                break
            replay_batch(producers, batch)
    producers.map_end_offset = end_offset
