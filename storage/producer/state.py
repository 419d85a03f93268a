"""The producers of one log: who wrote what last, and which transactions are open.

```text
 open transactions         first offset → producer          no marker yet
 unreplicated ones         first offset → marker's offset   marker not below the high watermark yet
 first unstable offset     the least first offset of both: readers of committed data stop there
 map end offset            state covers the log up to here, exclusive
```
Changes come in two steps, so that nothing is remembered that was not written: `check` says what an
append will change or refuses it, `apply` makes it so. Snapshots are files of the state at an
offset; the state is always that of any usable snapshot plus the batches after it.
Source: ProducerStateManager.java (4.3), KIP-98.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from protocol.records.control import parse_end_transaction_marker
from runtime.disk import Disk
from storage import filenames
from storage.errors import CorruptFileError
from storage.log.results import Origin
from storage.producer.append_check import (
    AppendContext,
    CompletedTransaction,
    ProducerUpdate,
    check_data,
    check_marker,
    check_verified,
)
from storage.producer.entry import (
    NO_OFFSET,
    NO_PRODUCER_EPOCH,
    NO_SLOT,
    NO_TIMESTAMP,
    BatchMetadata,
    ProducerEntry,
)
from storage.producer.snapshot import (
    SnapshotImage,
    SnapshotWrite,
    decode_snapshot,
    encode_rows,
    read_snapshot,
    write_snapshot,
)
from storage.producer.verification import NO_TERMS, TransactionTerms, Verification, Verifications

ALL_SLOTS = slice(None)


class ProducerState:
    """See the module. Lives in the directory of its log and is used by the log's thread."""

    __slots__ = (
        "_directory",
        "_disk",
        "_image",
        "_open",
        "_producers",
        "_snapshots",
        "_topic_partition",
        "_unreplicated",
        "_unwritten",
        "_verifications",
        "last_snapshot_offset",
        "map_end_offset",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        topic_partition: TopicPartition,
        snapshot_offsets: Iterable[int] = (),
    ) -> None:
        """No producers yet; snapshot_offsets are those of the files in the directory."""
        self._disk = disk
        self._directory = directory
        self._topic_partition = topic_partition
        self._producers: dict[int, ProducerEntry] = {}
        self._image = SnapshotImage()
        self._unwritten: dict[int, bytes] = {}
        self._verifications = Verifications()
        self._open: dict[int, int] = {}
        self._unreplicated: dict[int, int] = {}
        self._snapshots = sorted(snapshot_offsets)
        self.last_snapshot_offset = 0
        self.map_end_offset = 0

    # Producers.

    def __len__(self) -> int:
        return len(self._producers)

    def entries(self) -> Iterator[ProducerEntry]:
        """Every producer known."""
        return iter(self._producers.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        """What is known of a producer."""
        return self._producers.get(producer_id)

    def duplicate_of(self, batch: RecordBatch) -> BatchMetadata | None:
        """The appended batch that this one repeats; asked before any other rule."""
        entry = self._producers.get(batch.producer_id)
        return None if entry is None else entry.duplicate_of(batch)

    def check(
        self,
        batch: RecordBatch,
        origin: Origin,
        terms: TransactionTerms = NO_TERMS,
        *,
        must_be_verified: bool = False,
    ) -> ProducerUpdate:
        """What appending a batch with a producer id, offsets assigned, will change.

        KafkaError, as `storage.producer.append_check` says, if it may not be appended.
        """
        producer_id = batch.producer_id
        entry = self._producers.get(producer_id)
        context = AppendContext(
            self._topic_partition,
            origin,
            entry,
            self._verifications.get(producer_id),
            terms.transaction_version,
        )
        if must_be_verified:
            check_verified(context, batch, terms.verification)
        if not batch.is_control:
            return check_data(context, batch)
        marker = parse_end_transaction_marker(batch)
        if marker is None:
            return _unchanged(batch, entry)
        return check_marker(context, batch, marker)

    def check_replayed(self, batch: RecordBatch) -> ProducerUpdate:
        """What a batch that is in the log already changes; nothing is refused but corruption."""
        return self.check(batch, Origin.REPLICATION)

    def apply(self, update: ProducerUpdate) -> None:
        """The batch was written: remember what it changed.

        A completed transaction stays open until `complete_transaction`.
        """
        entry = self._producers.get(update.producer_id)
        if entry is None:
            entry = self._producers[update.producer_id] = ProducerEntry(update.producer_id)
        entry.set_epoch(update.producer_epoch)
        entry.last_timestamp = update.timestamp
        if update.batch is not None:
            entry.add(update.batch)
        if update.started_offset != NO_OFFSET:
            entry.transaction_first_offset = update.started_offset
            self._open[update.started_offset] = update.producer_id
        if update.coordinator_epoch is not None:
            entry.coordinator_epoch = update.coordinator_epoch
            entry.transaction_first_offset = NO_OFFSET
        self._image.put(entry)

    def start_verification(self, producer_id: int, asked: Verification) -> Verification | None:
        """What an append must present after the coordinator said yes.

        None where a transaction of that epoch is open already: then there is nothing to ask.
        """
        entry = self._producers.get(producer_id)
        if entry is not None and entry.is_in_transaction(asked.producer_epoch):
            return None
        return self._verifications.start(producer_id, asked)

    def end_verification(self, producer_id: int) -> None:
        """A transactional batch or a marker of the producer is in the log."""
        self._verifications.end(producer_id)

    def remove_expired(self, now_ms: int, expiration_ms: int, slots: slice = ALL_SLOTS) -> int:
        """Forget producers that wrote nothing for so long and have no open transaction; how many.

        Time counts from the last batch's or marker's own timestamp. Only those in `slots` are
        looked at: whoever begins with the last ones misses none.
        """
        self._verifications.remove_expired(now_ms, expiration_ms)
        expired = [
            entry
            for entry in self._image.owners(slots)
            if _is_expired(entry, now_ms, expiration_ms)
        ]
        for entry in reversed(expired):
            del self._producers[entry.producer_id]
            self._image.drop(entry)
        return len(expired)

    # Transactions.

    @property
    def first_undecided_offset(self) -> int | None:
        """First offset of the oldest open transaction."""
        return next(iter(self._open)) if self._open else None

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the oldest transaction that is open or not known to be replicated."""
        undecided = self.first_undecided_offset
        if not self._unreplicated:
            return undecided
        unreplicated = min(self._unreplicated)
        return unreplicated if undecided is None else min(undecided, unreplicated)

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """Where stability would end, were this transaction complete and all replicated."""
        for first_offset, producer_id in self._open.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete_transaction(self, completed: CompletedTransaction) -> None:
        """Its marker is written: not open any more, unstable until replicated."""
        del self._open[completed.first_offset]
        self._unreplicated[completed.first_offset] = completed.last_offset

    def on_high_watermark(self, offset: int) -> None:
        """Everything below offset is replicated, markers included."""
        if self._unreplicated:
            self._unreplicated = {
                first: last for first, last in self._unreplicated.items() if last >= offset
            }

    # Following the log.

    def on_log_start_incremented(self, log_start_offset: int) -> None:
        """The log begins later: transactions wholly before that matter to nobody."""
        self.on_high_watermark(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self.last_snapshot_offset = self._snapshots[-1] if self._snapshots else log_start_offset

    def truncate_and_reload(
        self, log_start_offset: int, log_end_offset: int, now_ms: int, expiration_ms: int
    ) -> None:
        """Go back to a state at or before log_end_offset: `map_end_offset` says at which.

        The caller replays the batches from there. Snapshots outside (start, end] are deleted.
        Transactions that ended before log_end_offset and were not replicated stay so, wherever
        the replay begins: the high watermark may lie below the snapshot.
        """
        for offset in list(self._snapshots):
            if offset > log_end_offset or offset <= log_start_offset:
                self.delete_snapshot(offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_incremented(log_start_offset)
            return
        unreplicated = {
            first: last for first, last in self._unreplicated.items() if last < log_end_offset
        }
        self._forget_all()
        self._load(log_start_offset, now_ms, expiration_ms)
        self._unreplicated = unreplicated

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget all producers and delete all snapshots: the log begins anew at offset."""
        self._forget_all()
        for snapshot in list(self._snapshots):
            self.delete_snapshot(snapshot)
        self.last_snapshot_offset = 0
        self.map_end_offset = offset

    def adopt(self, other: "ProducerState") -> None:
        """Know of all producers what the state of another copy of this log knows.

        Questions under way at the coordinator go on here: their appends must not be refused.
        """
        self._producers = other._producers
        self._image = other._image
        self._open = other._open
        self._unreplicated = other._unreplicated
        self._verifications = other._verifications

    def moved_to(self, directory: str) -> None:
        """The log's directory has another name now."""
        self._directory = directory

    def _forget_producers(self) -> None:
        self._producers = {}
        self._image = SnapshotImage()

    def _forget_all(self) -> None:
        self._forget_producers()
        self._open.clear()
        self._unreplicated.clear()

    def _load(self, log_start_offset: int, now_ms: int, expiration_ms: int) -> None:
        while self._snapshots:
            offset = self._snapshots[-1]
            try:
                entries = self._read(offset)
            except CorruptFileError:
                self.delete_snapshot(offset)
                continue
            self.restore(
                [entry for entry in entries if not _is_expired(entry, now_ms, expiration_ms)],
                offset,
            )
            return
        self.last_snapshot_offset = self.map_end_offset = log_start_offset

    def restore(self, entries: Iterable[ProducerEntry], offset: int) -> None:
        """Take the producers of a snapshot at an offset, in place of those that were known.

        Which transactions are not replicated yet no snapshot says: that stays as it is.
        """
        self._forget_producers()
        for entry in entries:
            entry.slot = NO_SLOT
            self._producers[entry.producer_id] = entry
            self._image.put(entry)
        self._open = {
            entry.transaction_first_offset: entry.producer_id
            for entry in sorted(
                self._producers.values(), key=lambda entry: entry.transaction_first_offset
            )
            if entry.transaction_first_offset != NO_OFFSET
        }
        self.last_snapshot_offset = self.map_end_offset = offset

    # Snapshots.

    def _read(self, offset: int) -> list[ProducerEntry]:
        path = self.snapshot_path(offset)
        rows = self._unwritten.get(offset)
        if rows is not None:
            return decode_snapshot(path, encode_rows(rows))
        if not self._disk.exists(path):
            raise CorruptFileError(path, "it was never written")
        return read_snapshot(self._disk, path)

    @property
    def snapshot_offsets(self) -> list[int]:
        """Offsets of the snapshots there are, ascending."""
        return list(self._snapshots)

    def snapshot_path(self, offset: int) -> str:
        """Where the snapshot at an offset is."""
        return filenames.segment_path(self._directory, offset, filenames.SNAPSHOT)

    def plan_snapshot(self) -> bool:
        """Have the state at `map_end_offset` written by a worker; not if the last is as new.

        Takes a copy of the rows, and touches no file.
        """
        offset = self.map_end_offset
        if offset <= self.last_snapshot_offset:
            return False
        self._unwritten[offset] = self._image.copy()
        self._took_snapshot(offset)
        return True

    @property
    def owes_snapshots(self) -> bool:
        """Whether snapshots were planned that no worker was given yet."""
        return bool(self._unwritten)

    def snapshot_writes(self) -> list[SnapshotWrite]:
        """What a worker has to run for the snapshots planned; their names are then to be synced.

        One for which there is no descriptor now is left for the next time.
        """
        works: list[SnapshotWrite] = []
        for offset, rows in list(self._unwritten.items()):
            try:
                works.append(SnapshotWrite(self._disk, self.snapshot_path(offset), rows))
            except OSError:
                break
            del self._unwritten[offset]
        return works

    def _took_snapshot(self, offset: int) -> None:
        if offset not in self._snapshots:
            insort(self._snapshots, offset)
        self.last_snapshot_offset = offset

    def take_snapshot(self, *, sync: bool) -> str | None:
        """Write the state at `map_end_offset`; its path, None if the last one is not older.

        For whoever is in a worker already.

        Without sync the path must be given to `sync_snapshot`, in a worker, before the recovery
        point passes the offset.
        """
        offset = self.map_end_offset
        if offset <= self.last_snapshot_offset:
            return None
        path = self.snapshot_path(offset)
        write_snapshot(self._disk, path, self._image.copy(), sync=sync)
        self._took_snapshot(offset)
        return path

    def delete_snapshot(self, offset: int) -> None:
        """Remove one snapshot, if it is there."""
        if offset in self._snapshots:
            self._snapshots.remove(offset)
            self._unwritten.pop(offset, None)
            path = self.snapshot_path(offset)
            if self._disk.exists(path):
                self._disk.unlink(path)

    def delete_snapshots_before(self, offset: int) -> None:
        """Remove the snapshots at lower offsets."""
        for snapshot in self._snapshots[: bisect_left(self._snapshots, offset)]:
            self.delete_snapshot(snapshot)

    def remove_stray_snapshots(self, segment_base_offsets: Iterable[int]) -> None:
        """Remove snapshots that belong to no segment, but for one beyond the last base offset.

        That one was written when the log was closed.
        """
        bases = set(segment_base_offsets)
        strays = [offset for offset in self._snapshots if offset not in bases]
        if strays and (not bases or strays[-1] >= max(bases)):
            strays.pop()
        for offset in strays:
            self.delete_snapshot(offset)


def _is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    return (
        entry.transaction_first_offset == NO_OFFSET
        and now_ms - entry.last_timestamp >= expiration_ms
    )


def _unchanged(batch: RecordBatch, entry: ProducerEntry | None) -> ProducerUpdate:
    """For a control batch whose record the cleaner took: it changes nothing."""
    epoch = NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch
    timestamp = NO_TIMESTAMP if entry is None else entry.last_timestamp
    return ProducerUpdate(batch.producer_id, epoch, timestamp, None, NO_OFFSET, None, None)
