"""Answers as plain values in which all that brokers may choose for themselves has one name.

What differs by right:

    topic ids, cluster ids, session ids, producer ids   made up: compared by whether there is one
    hosts, ports, directories, disk sizes               where it runs
    times the broker stamped                            compared by whether there is one
    the wording of messages                             compared by whether there is one
    the order of items in an answer                     Kafka's is that of its hash maps
"""

from typing import Any, NamedTuple

from protocol.schema.message import Message
from tests.kafka_tools.side import Side

ZERO_ID = bytes(16)
MADE_UP = {"cluster_id", "port", "host", "log_dir"}
NUMBERS = {
    "session_id": 0,
    "producer_id": -1,
    "log_append_time_ms": -1,
    "last_timestamp": -1,
    "total_bytes": -1,
    "usable_bytes": -1,
}
TEXTS = {"error_message", "batch_index_error_message", "documentation"}


def plain(value: Any, side: Side, field: str = "") -> Any:
    """The value, its messages as dicts, its lists of messages sorted."""
    if isinstance(value, Message):
        return {f.name: plain(getattr(value, f.name), side, f.name) for f in type(value).__fields__}
    if isinstance(value, list):
        items = [plain(item, side, field) for item in value]
        return _sorted(items) if value and isinstance(value[0], Message) else items
    if isinstance(value, memoryview):
        return bytes(value).hex()
    if isinstance(value, bytes):
        return _topic_id(value, side) if len(value) == len(ZERO_ID) else value.hex()
    if field in NUMBERS and value != NUMBERS[field]:
        return f"<{field}>"
    if value is not None and (field in MADE_UP or field in TEXTS):
        return f"<{field}>" if value else ""
    return value


def _sorted(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items in one order, a topic that an answer names in pieces put together."""
    whole: dict[str, dict[str, Any]] = {}
    for item in items:
        inner = next((key for key in ("partitions", "partition_responses") if key in item), None)
        identity = repr({key: value for key, value in item.items() if key != inner})
        known = whole.setdefault(identity if inner else repr((identity, len(whole))), item)
        if inner and known is not item:
            known[inner] = sorted(known[inner] + item[inner], key=repr)
    return sorted(whole.values(), key=repr)


def _topic_id(value: bytes, side: Side) -> str:
    if value == ZERO_ID:
        return "<no id>"
    return f"<id of {side.names_by_id.get(value, 'a new topic')}>"


class Difference(NamedTuple):
    """Where two answers differ; `path` is that of the field, without positions in lists."""

    path: str
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return f"{self.path or 'answer'}: tidelog {self.ours!r}, kafka {self.theirs!r}"


def differences(ours: Any, theirs: Any, path: str = "") -> list[Difference]:
    """Where two plain values differ. What failed at one broker only differs in its code alone."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        codes = ours.get("error_code"), theirs.get("error_code")
        if codes[0] != codes[1] and (0 in codes or -1 in codes):
            return [Difference(f"{path}.error_code", *codes)]
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return [
            line for key in ours for line in differences(ours[key], theirs[key], f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        return [line for one, other in pairs for line in differences(one, other, path)]
    return [] if ours == theirs else [Difference(path, ours, theirs)]
