"""`<offset>.snapshot`: the producers of a log up to an offset, exclusive.

```text
 0 version  i16 = 1
 2 crc      u32   CRC-32C of everything from 6 on
 6 count    i32
10 producers, 46 bytes each:
    0 producerId             i64
    8 epoch                  i16
   10 lastSequence           i32   of the last batch only: that is all that is kept
   14 lastOffset             i64   -1 without a batch
   22 offsetDelta            i32
   26 timestamp              i64
   34 coordinatorEpoch       i32
   38 currentTxnFirstOffset  i64   -1 without an open transaction
```
Written when a segment is rolled, when the log is closed and after recovery. One that cannot be read
is deleted, and an older one used: the state is that of any snapshot and the batches after it, so a
snapshot lost, empty or torn costs a longer replay and nothing else. That is why a roll need not
wait for its own: the rows are copied as they are at the roll (`SnapshotImage`, some 50 ns a
producer), and a worker writes them, by a descriptor it was given. A file removed meanwhile, because
the log was cut or its segment deleted, is then written to nobody's harm: no later file of that name
is the same file.
Source: ProducerStateManager.java, ProducerSnapshot.json (4.3).
"""

from collections.abc import Iterable
from struct import Struct

from protocol.crc32c import crc32c
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.producer.entry import (
    NO_OFFSET,
    NO_SEQUENCE,
    NO_SLOT,
    BatchMetadata,
    ProducerEntry,
)

_HEADER = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_ROW = _ENTRY.size
_VERSION = 1
_NO_BATCH = BatchMetadata(NO_SEQUENCE, NO_OFFSET, 0, 0)
MOST_SORTED = 1000
"""Rows are put in order of their ids up to this number, so that small files can be compared."""


def encode_snapshot(producers: Iterable[ProducerEntry]) -> bytes:
    """The file's bytes, producers in ascending order of their ids."""
    entries = sorted(producers, key=lambda entry: entry.producer_id)
    rows = bytearray(len(entries) * _ROW)
    for slot, entry in enumerate(entries):
        _write_row(rows, slot * _ROW, entry)
    return encode_rows(bytes(rows))


def encode_rows(rows: bytes) -> bytes:
    """The file's bytes around the rows of an image."""
    count = len(rows) // _ROW
    if count <= MOST_SORTED:
        rows = b"".join(sorted(rows[at : at + _ROW] for at in range(0, len(rows), _ROW)))
    body = _COUNT.pack(count) + rows
    return _HEADER.pack(_VERSION, crc32c(body)) + body


class SnapshotImage:
    """The rows of a snapshot taken now, one a producer, brought up to date with each change.

    Packing a hundred thousand producers takes 50 ms, which is too long for the loop; copying their
    rows takes one or two. Row and producer find each other by the slot that the entry remembers;
    the last row takes the place of one that goes.
    """

    __slots__ = ("_owners", "_rows")

    def __init__(self) -> None:
        """No producers."""
        self._rows = bytearray()
        self._owners: list[ProducerEntry] = []

    def put(self, entry: ProducerEntry) -> None:
        """The entry's row says what the entry says."""
        slot = entry.slot
        if slot < 0:
            slot = entry.slot = len(self._owners)
            self._owners.append(entry)
            self._rows += bytes(_ROW)
        _write_row(self._rows, slot * _ROW, entry)

    def drop(self, entry: ProducerEntry) -> None:
        """The entry has no row any more."""
        last, rows = self._owners.pop(), self._rows
        if last is not entry:
            last.slot = entry.slot
            self._owners[last.slot] = last
            rows[last.slot * _ROW : (last.slot + 1) * _ROW] = rows[-_ROW:]
        del rows[-_ROW:]
        entry.slot = NO_SLOT

    def owners(self, slots: slice) -> list[ProducerEntry]:
        """The producers whose rows are in these slots."""
        return self._owners[slots]

    def copy(self) -> bytes:
        """The rows as they are now."""
        return bytes(self._rows)


def _write_row(rows: bytearray, position: int, entry: ProducerEntry) -> None:
    last = entry.batches[-1] if entry.batches else _NO_BATCH
    _ENTRY.pack_into(
        rows,
        position,
        entry.producer_id,
        entry.producer_epoch,
        last.last_sequence,
        last.last_offset,
        last.offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
    )


def decode_snapshot(path: str, data: bytes) -> list[ProducerEntry]:
    """The producers in a file; CorruptFileError unless version, checksum and length are right."""
    if len(data) < _HEADER.size + _COUNT.size:
        raise CorruptFileError(path, f"{len(data)} bytes are no snapshot")
    version, crc = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise CorruptFileError(path, f"unrecognized version {version}")
    body = memoryview(data)[_HEADER.size :]
    if crc32c(body) != crc:
        raise CorruptFileError(path, "the checksum is wrong")
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise CorruptFileError(path, f"{count} producers do not fit {len(data)} bytes")
    return [_decode_entry(fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]


def _decode_entry(fields: tuple[int, ...]) -> ProducerEntry:
    entry = ProducerEntry(fields[0])
    _, entry.producer_epoch, last_sequence, last_offset, offset_delta, *rest = fields
    entry.last_timestamp, entry.coordinator_epoch, entry.transaction_first_offset = rest
    if last_offset >= 0:
        entry.add(BatchMetadata(last_sequence, last_offset, offset_delta, entry.last_timestamp))
    return entry


def read_snapshot(disk: Disk, path: str) -> list[ProducerEntry]:
    """The producers in the file at path; CorruptFileError for one that is no snapshot."""
    return decode_snapshot(path, disk.read_file(path))


def write_snapshot(disk: Disk, path: str, rows: bytes, *, sync: bool) -> None:
    """Put the rows of an image in a file; its bytes are durable afterwards with sync.

    Written in place: a torn one fails its checksum and is passed over.
    """
    disk.write_file(path, encode_rows(rows), sync=sync)


class SnapshotWrite:
    """The writing of one snapshot, in any thread: call it once, or discard it."""

    __slots__ = ("_disk", "_fd", "_rows")

    def __init__(self, disk: Disk, path: str, rows: bytes) -> None:
        """Open the file, made if it is missing."""
        self._disk = disk
        self._fd = disk.open(path, create=True)
        self._rows = rows

    def __call__(self) -> None:
        """The file holds these rows and nothing else, durably."""
        try:
            data = encode_rows(self._rows)
            self._disk.truncate(self._fd, len(data))
            self._disk.pwrite(self._fd, data, 0)
            self._disk.fsync(self._fd)
        finally:
            self.discard()

    def discard(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._disk.close(fd)


def sync_snapshot(disk: Disk, path: str) -> None:
    """Make a snapshot written without sync durable; runs in any thread.

    One that was deleted meanwhile needs nothing.
    """
    if disk.exists(path):
        fd = disk.open(path)
        try:
            disk.fsync(fd)
        finally:
            disk.close(fd)
