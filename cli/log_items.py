"""What lies in the files of a data directory, as items; any Kafka's files.

Files are read as they are, without the index and without the broker's code for open logs, so that
damage shows instead of being mended. Where something cannot be read an item with `error` says where
and why, and what can be read behind it follows.
"""

import json
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cli.log_records import record_items
from cli.output import text_of
from protocol.records.batch import RecordBatch, parse_batch
from protocol.records.compression import Codec
from protocol.records.errors import CorruptBatch
from storage import filenames
from storage.checkpoints import decode_lines
from storage.errors import CorruptFileError
from storage.log_dirs import parse_properties
from storage.producer.snapshot import decode_snapshot
from storage.segment.batch_scan import BatchHeader
from storage.segment.salvage import Damaged, salvage

Item = dict[str, Any]
OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
TRANSACTION_ENTRY = struct.Struct(">hqqqq")


class Wanted(NamedTuple):
    """What is asked of a file: records too, and only what touches offsets in [first, last]."""

    records: bool = False
    first: int = 0
    last: int = (1 << 63) - 1

    def touches(self, first: int, last: int) -> bool:
        """Whether offsets from `first` to `last` are asked for."""
        return first <= self.last and last >= self.first


EVERYTHING = Wanted()


def dump_file(path: Path, wanted: Wanted = EVERYTHING) -> Iterator[Item]:
    """Every item of one file; the kind is told by its name, none for a file of another kind."""
    parsed = filenames.parse_segment_file_name(path.name)
    try:
        if parsed is not None:
            yield from READERS[parsed.kind](path, parsed.base_offset, wanted)
        elif path.name == filenames.METADATA_STORE_FILE:
            yield from dump_metadata_store(path)
        elif path.name in TEXTS:
            yield from TEXTS[path.name](path)
        elif path.name.endswith("checkpoint"):
            yield from dump_lines(path)
    except OSError as error:
        yield {"error": f"cannot be read: {error.strerror}"}


def dump_log(path: Path, base_offset: int, wanted: Wanted) -> Iterator[Item]:
    """Batches of a segment with their position and CRC state, and on request their records."""
    topic = path.absolute().parent.name.rpartition("-")[0]
    with path.open("rb") as file:
        fd = file.fileno()

        def read(size: int, position: int) -> bytes:
            return os.pread(fd, size, position)

        for piece in salvage(read, os.fstat(fd).st_size, base_offset):
            if isinstance(piece, Damaged):
                yield from _damaged(piece, read)
            elif wanted.touches(piece.header.base_offset, piece.header.last_offset):
                yield from _batch(piece.header, piece.batch, topic, wanted)


def _batch(
    header: BatchHeader, batch: RecordBatch | None, topic: str, wanted: Wanted
) -> Iterator[Item]:
    if batch is None:
        yield {
            "position": header.position,
            "base_offset": header.base_offset,
            "size": header.size,
            "magic": header.magic,
            "max_timestamp": header.max_timestamp,
            "crc_ok": True,
        }
        return
    yield batch_item(batch, header.position)
    if wanted.records:
        for item in record_items(batch, topic):
            if "offset" not in item or wanted.touches(item["offset"], item["offset"]):
                yield item


def _damaged(piece: Damaged, read: Callable[[int, int], bytes]) -> Iterator[Item]:
    """The header too, where it can be read: then only the checksum is wrong."""
    try:
        batch = parse_batch(read(piece.size, piece.position))
        if batch.size == piece.size:
            yield batch_item(batch, piece.position)
    except CorruptBatch:
        pass
    yield {"position": piece.position, "size": piece.size, "error": piece.reason}


def batch_item(batch: RecordBatch, position: int) -> Item:
    """The header, flags by name."""
    return {
        "position": position,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "count": batch.record_count,
        "size": batch.size,
        "leader_epoch": batch.leader_epoch,
        "max_timestamp": batch.max_timestamp,
        "timestamp_type": "LogAppendTime" if batch.is_log_append_time else "CreateTime",
        "codec": Codec(batch.codec).name.lower() if batch.codec <= max(Codec) else batch.codec,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "delete_horizon": batch.base_timestamp if batch.has_delete_horizon else -1,
        "crc": batch.crc,
        "crc_ok": batch.crc_ok(),
    }


def dump_offset_index(path: Path, base_offset: int, wanted: Wanted) -> Iterator[Item]:
    """Entries up to the zeros that fill an index not closed in order."""
    for slot, entry in _entries(path, OFFSET_ENTRY):
        if isinstance(entry, str):
            yield {"slot": slot, "error": entry}
        elif wanted.touches(base_offset + entry[0], base_offset + entry[0]):
            yield {"slot": slot, "offset": base_offset + entry[0], "position": entry[1]}


def dump_time_index(path: Path, base_offset: int, wanted: Wanted) -> Iterator[Item]:
    """Entries up to the zeros that fill an index not closed in order."""
    for slot, entry in _entries(path, TIME_ENTRY):
        if isinstance(entry, str):
            yield {"slot": slot, "error": entry}
        elif wanted.touches(base_offset + entry[1], base_offset + entry[1]):
            yield {"slot": slot, "timestamp": entry[0], "offset": base_offset + entry[1]}


def dump_transaction_index(path: Path, _base_offset: int, wanted: Wanted) -> Iterator[Item]:
    """Aborted transactions."""
    for slot, entry in _entries(path, TRANSACTION_ENTRY):
        if isinstance(entry, str):
            yield {"slot": slot, "error": entry}
            continue
        version, producer, first, last, stable = entry
        if wanted.touches(first, last):
            yield {
                "version": version,
                "producer_id": producer,
                "first_offset": first,
                "last_offset": last,
                "last_stable_offset": stable,
            }


def _entries(path: Path, shape: struct.Struct) -> Iterator[tuple[int, tuple[int, ...] | str]]:
    """(slot, entry); an error in place of the entry that is cut off at the end."""
    data = path.read_bytes()
    used = -(-len(data.rstrip(b"\0")) // shape.size) * shape.size
    kept = data[:used] if shape is not TRANSACTION_ENTRY else data
    whole = len(kept) // shape.size
    yield from enumerate(shape.iter_unpack(kept[: whole * shape.size]))
    if len(data) % shape.size:
        position = len(data) // shape.size * shape.size
        yield whole, f"{len(data) - position} bytes at position {position} are no whole entry"


def dump_snapshot(path: Path, _base_offset: int, _wanted: Wanted) -> Iterator[Item]:
    """Producers remembered at the snapshot's offset; lasts are -1 without a batch."""
    try:
        producers = decode_snapshot(str(path), path.read_bytes())
    except CorruptFileError as error:
        yield {"error": error.reason}
        return
    for producer in producers:
        last = producer.batches[-1] if producer.batches else None
        yield {
            "producer_id": producer.producer_id,
            "producer_epoch": producer.producer_epoch,
            "last_sequence": last.last_sequence if last else -1,
            "last_offset": last.last_offset if last else -1,
            "offset_delta": last.offset_delta if last else 0,
            "last_timestamp": producer.last_timestamp,
            "coordinator_epoch": producer.coordinator_epoch,
            "transaction_first_offset": producer.transaction_first_offset,
        }


def dump_offsets(path: Path) -> Iterator[Item]:
    """Entries of an offset checkpoint."""
    for fields in _lines(path, 3):
        if isinstance(fields, dict):
            yield fields
        else:
            topic, partition, offset = fields
            yield {"topic": topic, "partition": partition, "offset": offset}


def dump_epochs(path: Path) -> Iterator[Item]:
    """Leader epochs and where they start."""
    for fields in _lines(path, 2):
        if isinstance(fields, dict):
            yield fields
        else:
            yield {"epoch": fields[0], "start_offset": fields[1]}


def _lines(path: Path, fields: int) -> Iterator[list[Any] | Item]:
    """Fields of each entry, numbers as numbers; an error and the text where they cannot be read."""
    data = path.read_bytes()
    try:
        for entry in decode_lines(str(path), data):
            if len(entry) != fields:
                raise CorruptFileError(str(path), f"malformed line {' '.join(entry)!r}")
            yield [entry[0] if fields == 3 else int(entry[0]), *map(int, entry[1:])]
    except (CorruptFileError, ValueError) as error:
        yield {"error": error.reason if isinstance(error, CorruptFileError) else str(error)}
        yield from dump_lines(path)


def dump_lines(path: Path) -> Iterator[Item]:
    """A text file as it is."""
    for line in path.read_text(errors="backslashreplace").splitlines():
        yield {"line": line}


def dump_properties(path: Path) -> Iterator[Item]:
    """Whose a log directory is."""
    yield dict(parse_properties(path.read_text(errors="backslashreplace")))


def dump_metadata_store(path: Path) -> Iterator[Item]:
    """Every node of the tree that Kafka keeps in ZooKeeper; read from a copy."""
    from sqlite3 import DatabaseError

    from cli.offline import store_rows

    with tempfile.TemporaryDirectory() as folder:
        for part in (path, path.with_name(f"{path.name}-wal")):
            if part.is_file():
                shutil.copy(part, folder)
        try:
            rows = store_rows(Path(folder) / path.name)
        except DatabaseError as error:
            yield {"error": str(error)}
            return
    for node, _, data in rows:
        yield {"node": node, "data": _json_or_text(data)}


def _json_or_text(data: bytes | None) -> Any:
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return text_of(data)


READERS: dict[str, Callable[[Path, int, Wanted], Iterator[Item]]] = {
    filenames.LOG: dump_log,
    filenames.OFFSET_INDEX: dump_offset_index,
    filenames.TIME_INDEX: dump_time_index,
    filenames.TRANSACTION_INDEX: dump_transaction_index,
    filenames.SNAPSHOT: dump_snapshot,
}
TEXTS: dict[str, Callable[[Path], Iterator[Item]]] = {
    filenames.RECOVERY_POINT_CHECKPOINT: dump_offsets,
    filenames.LOG_START_OFFSET_CHECKPOINT: dump_offsets,
    filenames.HIGH_WATERMARK_CHECKPOINT: dump_offsets,
    filenames.CLEANER_CHECKPOINT: dump_offsets,
    filenames.LEADER_EPOCH_CHECKPOINT: dump_epochs,
    filenames.PARTITION_METADATA_FILE: dump_lines,
    filenames.META_PROPERTIES_FILE: dump_properties,
    filenames.CLEAN_SHUTDOWN_FILE: dump_lines,
}
