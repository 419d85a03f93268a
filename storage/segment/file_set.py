"""The files of one segment: their names, and its indexes, each opened when first needed.

An index that nobody asked for costs nothing: opening ten thousand segments stats ten thousand
`.log` files and touches no other.
"""

from typing import NamedTuple

from runtime.disk import Disk
from storage import filenames
from storage.segment.file_records import FilePool, PooledFile
from storage.segment.offset_index import OffsetIndex
from storage.segment.time_index import TimeIndex
from storage.segment.transaction_index import TransactionIndex

_KINDS = (
    filenames.LOG,
    filenames.OFFSET_INDEX,
    filenames.TIME_INDEX,
    filenames.TRANSACTION_INDEX,
)


class SegmentFiles(NamedTuple):
    """Where segments live: the disk of their log directory, the pool of open files, and how their
    names end.
    """

    disk: Disk
    pool: FilePool
    suffix: str = filenames.NO_SUFFIX


class SegmentSettings(NamedTuple):
    """index.interval.bytes, segment.index.bytes, and what to reserve for a new `.log` (0 nothing).

    A segment keeps those it was opened with.
    """

    index_interval_bytes: int
    max_index_bytes: int
    preallocate_bytes: int = 0


class FlushWork:
    """Descriptors of one segment, to be synced in any thread: call it once, or discard it."""

    __slots__ = ("_disk", "_fds")

    def __init__(self, disk: Disk, fds: list[int]) -> None:
        self._disk = disk
        self._fds = fds

    def __call__(self) -> None:
        """Everything the segment held when this was made is durable afterwards."""
        try:
            for fd in self._fds:
                self._disk.fsync(fd)
        finally:
            self.discard()

    def discard(self) -> None:
        """Close the descriptors."""
        fds, self._fds = self._fds, []
        for fd in fds:
            self._disk.close(fd)


class FileSet:
    """Names and indexes of one segment."""

    __slots__ = (
        "_directory",
        "_disk",
        "_max_index_bytes",
        "_offset_index",
        "_pool",
        "_time_index",
        "_transaction_index",
        "base_offset",
        "log",
        "suffix",
    )

    def __init__(
        self,
        files: SegmentFiles,
        directory: str,
        base_offset: int,
        max_index_bytes: int,
    ) -> None:
        """Nothing is opened or made."""
        self._disk, self._pool, self.suffix = files
        self._directory = directory
        self._max_index_bytes = max_index_bytes
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self.base_offset = base_offset
        self.log = PooledFile(self._disk, self._pool, self.path(filenames.LOG))

    def path(self, kind: str) -> str:
        """Path of one of the files, under the present suffix."""
        return filenames.segment_path(self._directory, self.base_offset, kind, self.suffix)

    @property
    def offset_index(self) -> OffsetIndex:
        """The `.index`."""
        if self._offset_index is None:
            path = self.path(filenames.OFFSET_INDEX)
            self._offset_index = OffsetIndex(
                self._disk, self._pool, path, self.base_offset, self._max_index_bytes
            )
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The `.timeindex`."""
        if self._time_index is None:
            path = self.path(filenames.TIME_INDEX)
            self._time_index = TimeIndex(
                self._disk, self._pool, path, self.base_offset, self._max_index_bytes
            )
        return self._time_index

    @property
    def transaction_index(self) -> TransactionIndex:
        """The `.txnindex`."""
        if self._transaction_index is None:
            path = self.path(filenames.TRANSACTION_INDEX)
            self._transaction_index = TransactionIndex(self._disk, path, self.base_offset)
        return self._transaction_index

    def moved_to(self, directory: str, pool: FilePool | None = None) -> None:
        """The directory has another name now; a given pool takes the files over, closed."""
        self._directory = directory
        if pool is not None:
            self.close()
            self._pool = pool
            self.log.use_pool(pool)
            for index in (self._offset_index, self._time_index):
                if index is not None:
                    index.use_pool(pool)
        self._renamed()

    def change_suffix(self, suffix: str) -> None:
        """Rename the files that exist."""
        old = [self.path(kind) for kind in _KINDS]
        self.suffix = suffix
        for source, kind in zip(old, _KINDS, strict=True):
            if self._disk.exists(source):
                self._disk.replace(source, self.path(kind))
        self._renamed()

    def delete(self) -> None:
        """Remove the files that exist."""
        for kind in _KINDS:
            path = self.path(kind)
            if self._disk.exists(path):
                self._disk.unlink(path)

    def close(self) -> None:
        """Give the descriptors up."""
        self.log.close()
        if self._offset_index is not None:
            self._offset_index.close()
        if self._time_index is not None:
            self._time_index.close()
        if self._transaction_index is not None:
            self._transaction_index.close()

    def flush_work(self) -> FlushWork:
        """Index entries are in the files now; syncing them and the log is the work."""
        offset_index, time_index = self.offset_index, self.time_index
        fds: list[int] = []
        work = FlushWork(self._disk, fds)
        try:
            fds.append(self.log.duplicate())
            fds.append(offset_index.duplicate())
            fds.append(time_index.duplicate())
            transactions = self.path(filenames.TRANSACTION_INDEX)
            if self._disk.exists(transactions):
                fds.append(self._disk.open(transactions))
        except BaseException:
            work.discard()
            raise
        return work

    def sanity_check(self, log_size: int) -> None:
        """CorruptFileError if an index file is missing or cannot be right."""
        self.offset_index.sanity_check()
        self.offset_index.check_within(log_size)
        self.time_index.sanity_check()
        self.transaction_index.sanity_check()

    def _renamed(self) -> None:
        self.log.path = self.path(filenames.LOG)
        if self._offset_index is not None:
            self._offset_index.moved_to(self.path(filenames.OFFSET_INDEX))
        if self._time_index is not None:
            self._time_index.moved_to(self.path(filenames.TIME_INDEX))
        if self._transaction_index is not None:
            self._transaction_index.moved_to(self.path(filenames.TRANSACTION_INDEX))
