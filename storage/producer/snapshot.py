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
is deleted, and an older one used. Source: ProducerStateManager.java, ProducerSnapshot.json (4.3).
"""

from collections.abc import Iterable
from struct import Struct

from protocol.crc32c import crc32c
from runtime.disk import Disk
from storage.errors import CorruptFileError
from storage.producer.entry import NO_OFFSET, NO_SEQUENCE, BatchMetadata, ProducerEntry

_HEADER = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_VERSION = 1


def encode_snapshot(producers: Iterable[ProducerEntry]) -> bytes:
    """The file's bytes, producers in ascending order of their ids."""
    entries = [
        _encode_entry(entry) for entry in sorted(producers, key=lambda entry: entry.producer_id)
    ]
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _HEADER.pack(_VERSION, crc32c(body)) + body


def _encode_entry(entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else BatchMetadata(NO_SEQUENCE, NO_OFFSET, 0, 0)
    return _ENTRY.pack(
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


def write_snapshot(
    disk: Disk, path: str, producers: Iterable[ProducerEntry], *, sync: bool
) -> None:
    """Put the producers in a file; its bytes are durable afterwards with sync.

    Written in place: a torn one fails its checksum and is passed over.
    """
    disk.write_file(path, encode_snapshot(producers), sync=sync)


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
