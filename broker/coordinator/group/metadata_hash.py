"""By which number a consumer group knows whether the topics it subscribes to have changed.

    topic   00 | id, high and low half i64 | name | partition count i32 |
            for each partition: its number i32 | for each rack, sorted: units i32 | rack
    group   for each topic, by name: its hash i64
    text    UTF-16 code units | their number i32                        all little-endian

The group's hash is written with its epoch, so it must be Kafka's to the bit: a broker that takes
over a group and comes to another number lets it rebalance.
Source: KIP-1101; Kafka 4.3 `Utils.computeTopicHash`, `Utils.computeGroupHash`.
"""

from collections.abc import Iterable, Mapping
from struct import pack, unpack

from broker.coordinator.group.xxh3 import xxh3_64
from protocol.model import TopicId

_FORMAT = b"\0"


def topic_hash(topic_id: TopicId, name: str, racks: Iterable[Iterable[str]]) -> int:
    """The hash of a topic; `racks` has, for each partition, one for each replica that has one."""
    partitions = [sorted(one) for one in racks]
    parts = [_FORMAT, pack("<QQ", *unpack(">QQ", topic_id)), _text(name)]
    parts.append(pack("<i", len(partitions)))
    for number, partition_racks in enumerate(partitions):
        parts.append(pack("<i", number))
        for rack in partition_racks:
            parts += [pack("<i", _units(rack)), _text(rack)]
    return xxh3_64(b"".join(parts))


def group_hash(topics: Mapping[str, int]) -> int:
    """The hash of a group, as an int64, from its topics' by name; 0 of no topics."""
    if not topics:
        return 0
    value = xxh3_64(b"".join(pack("<Q", topics[name]) for name in sorted(topics)))
    return value - (1 << 64) if value >> 63 else value


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + pack("<i", _units(text))
