"""Records as items: what a producer sent, markers by name, internal topics decoded."""

from collections.abc import Iterator
from typing import Any

from cli.output import text_of
from protocol.errors import KafkaError
from protocol.internal import consumer_offsets, transaction_state
from protocol.internal.coordinator_record import RecordKinds, UndecodableRecord
from protocol.model import topic_id_to_text
from protocol.records.batch import RecordBatch
from protocol.records.control import ControlType, control_type
from protocol.records.record import Record
from protocol.schema.message import Message

MAX_SHOWN_BYTES = 200
INTERNAL: dict[str, RecordKinds] = {
    "__consumer_offsets": consumer_offsets.RECORDS,
    "__transaction_state": transaction_state.RECORDS,
}

Item = dict[str, Any]


def record_items(batch: RecordBatch, topic: str) -> Iterator[Item]:
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
            item |= _content(record, INTERNAL.get(topic))
            item["headers"] = [[name, _shown(value)] for name, value in record.headers]
        yield item


def _content(record: Record, kinds: RecordKinds | None) -> Item:
    """Key and value, decoded where the topic's records have schemas; as they are where not."""
    if kinds is not None:
        try:
            decoded = kinds.decode(record.key, record.value)
        except UndecodableRecord as error:
            return {"undecodable": str(error)} | _content(record, None)
        value = decoded.value
        return {
            "type": kinds.name_of(decoded.record_type),
            "key": as_item(decoded.key),
            "version": decoded.version,
            "value": None if value is None else as_item(value),
        }
    return {"key": _shown(record.key), "value": _shown(record.value)}


def as_item(message: Message) -> Item:
    """A message's fields by name: ids as Kafka prints them, bytes as text."""
    return {
        field.name: _plain(getattr(message, field.name), field.kind == "uuid")
        for field in message.__fields__
    }


def _plain(value: Any, is_id: bool) -> Any:
    if isinstance(value, Message):
        return as_item(value)
    if isinstance(value, list):
        return [_plain(item, False) for item in value]
    if isinstance(value, bytes):
        return topic_id_to_text(value) if is_id else text_of(value)
    return value


def _marker_name(key: bytes | None) -> str:
    try:
        kind = control_type(key)
    except KafkaError as error:
        return str(error.message)
    return ControlType(kind).name if kind in set(ControlType) else str(kind)


def _shown(value: bytes | None) -> str | None:
    if value is None or len(value) <= MAX_SHOWN_BYTES:
        return text_of(value)
    return f"{text_of(value[:MAX_SHOWN_BYTES])}… ({len(value)} bytes)"
