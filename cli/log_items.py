"""What lies in the files of a data directory, one item a line; offline, any Kafka's files.

Files are read as they are, without the index and without the broker's code for open logs, so that
damage shows instead of being mended. A line that cannot be read says where and why, and the dump
goes on where it can.
"""

import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cli.output import text_of
from protocol.errors import KafkaError
from protocol.records.batch import RecordBatch, parse_batch, peek_header
from protocol.records.compression import Codec
from protocol.records.control import ControlType, control_type
from protocol.records.errors import CorruptBatch, LegacyMessageSet
from storage import filenames
from storage.errors import CorruptFileError
from storage.producer.snapshot import decode_snapshot

Item = dict[str, Any]
MAX_SHOWN_BYTES = 200
OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
TRANSACTION_ENTRY = struct.Struct(">hqqqq")


def dump_file(path: Path, records: bool) -> Iterator[Item]:
    """Every item of one file; the kind is told by its name."""
    parsed = filenames.parse_segment_file_name(path.name)
    reader = READERS.get(parsed.kind) if parsed is not None else None
    if parsed is not None and reader is not None:
        yield from reader(path, parsed.base_offset, records)
    elif path.name.endswith("checkpoint") or path.name in (
        filenames.PARTITION_METADATA_FILE,
        filenames.META_PROPERTIES_FILE,
        filenames.CLEAN_SHUTDOWN_FILE,
    ):
        for line in path.read_text(errors="backslashreplace").splitlines():
            yield {"file": path.name, "line": line}


def dump_log(path: Path, _base_offset: int, records: bool) -> Iterator[Item]:
    """Batches of a segment with their position and CRC state, and on request their records."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _batches(memoryview(content), records)


def _batches(view: memoryview, records: bool) -> Iterator[Item]:
    position = 0
    try:
        while position < len(view):
            prefix = peek_header(view, position)
            if prefix is None or position + prefix.size > len(view):
                left = len(view) - position
                yield {"position": position, "error": f"{left} bytes of a batch that was cut short"}
                return
            yield from _batch(view, position, records)
            position += prefix.size
    except CorruptBatch as error:
        yield {"position": position, "error": str(error)}
    finally:
        view.release()


def _batch(view: memoryview, position: int, records: bool) -> Iterator[Item]:
    try:
        batch = parse_batch(view, position)
    except LegacyMessageSet as error:
        yield {"position": position, "error": str(error)}
        return
    try:
        yield batch_item(batch, position)
        if records:
            yield from record_items(batch)
    finally:
        batch.view.release()


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
        "crc_ok": batch.crc_ok(),
    }


def record_items(batch: RecordBatch) -> Iterator[Item]:
    """The records of one batch; long keys and values are cut."""
    try:
        found = batch.records()
    except KafkaError as error:
        yield {"base_offset": batch.base_offset, "error": f"records cannot be read: {error}"}
        return
    for record in found:
        item: Item = {"offset": record.offset, "timestamp": record.timestamp}
        if batch.is_control:
            item["marker"] = _marker_name(record.key)
        else:
            item["key"] = _shown(record.key)
            item["value"] = _shown(record.value)
            item["headers"] = [[name, _shown(value)] for name, value in record.headers]
        yield item


def _marker_name(key: bytes | None) -> str:
    kind = control_type(key)
    return ControlType(kind).name if kind in set(ControlType) else str(kind)


def _shown(value: bytes | None) -> str | None:
    if value is None or len(value) <= MAX_SHOWN_BYTES:
        return text_of(value)
    return f"{text_of(value[:MAX_SHOWN_BYTES])}… ({len(value)} bytes)"


def dump_offset_index(path: Path, base_offset: int, _records: bool) -> Iterator[Item]:
    """Entries up to the zeros that fill an index not closed in order."""
    for slot, (offset, position) in enumerate(_entries(path, OFFSET_ENTRY)):
        if slot and not offset and not position:
            return
        yield {"slot": slot, "offset": base_offset + offset, "position": position}


def dump_time_index(path: Path, base_offset: int, _records: bool) -> Iterator[Item]:
    """Entries up to the zeros that fill an index not closed in order."""
    for slot, (timestamp, offset) in enumerate(_entries(path, TIME_ENTRY)):
        if slot and not timestamp:
            return
        yield {"slot": slot, "timestamp": timestamp, "offset": base_offset + offset}


def dump_transaction_index(path: Path, _base_offset: int, _records: bool) -> Iterator[Item]:
    """Aborted transactions."""
    for version, producer, first, last, stable in _entries(path, TRANSACTION_ENTRY):
        yield {
            "version": version,
            "producer_id": producer,
            "first_offset": first,
            "last_offset": last,
            "last_stable_offset": stable,
        }


def _entries(path: Path, shape: struct.Struct) -> Iterator[tuple[int, ...]]:
    data = path.read_bytes()
    whole = len(data) - len(data) % shape.size
    return shape.iter_unpack(data[:whole])


def dump_snapshot(path: Path, _base_offset: int, _records: bool) -> Iterator[Item]:
    """Producers remembered at the snapshot's offset; lasts are -1 without a batch."""
    try:
        producers = decode_snapshot(str(path), path.read_bytes())
    except CorruptFileError as error:
        yield {"error": str(error)}
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


READERS: dict[str, Callable[[Path, int, bool], Iterator[Item]]] = {
    filenames.LOG: dump_log,
    filenames.OFFSET_INDEX: dump_offset_index,
    filenames.TIME_INDEX: dump_time_index,
    filenames.TRANSACTION_INDEX: dump_transaction_index,
    filenames.SNAPSHOT: dump_snapshot,
}
