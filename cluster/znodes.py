"""Paths and data of the metadata tree, exactly as Kafka 3.9 lays it out in ZooKeeper.

Data is JSON in UTF-8 without spaces; readers ignore keys they do not know and the order of keys.
Null data is not empty data. Source: ZkData, KafkaZkClient and AdminZkClient of Kafka 3.9.

    /brokers/ids/<id>                              one live broker, ephemeral; its epoch: created_by
    /brokers/topics/<t>                            {"partitions":{"0":[1]},"topic_id":…,"version":3}
    /brokers/topics/<t>/partitions/<p>/state       {"leader":1,"leader_epoch":0,"isr":[1],…}
    /config/topics/<t>, /config/brokers/<id>       {"version":1,"config":{"retention.ms":"1"}}
    /config/groups/<g>, /config/client-metrics/<s> the same, ours alone; names percent-encoded
    /admin/delete_topics/<t>                       null: the topic is to be deleted
    /controller, /controller_epoch                 who is controller (ephemeral), decimal text
    /latest_producer_id_block                      {"version":1,"broker":1,"block_start":"0",…}
    /cluster/id                                    {"version":"1","id":"…22 characters…"}
    /feature                                       {"features":{"group.version":{…}},…}
"""

from collections.abc import Iterable, Mapping, Sequence
from json import JSONDecoder, JSONEncoder
from typing import Any, NamedTuple

from protocol.model import ZERO_TOPIC_ID, topic_id_from_text, topic_id_to_text

BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONFIG = "/config"
DELETE_TOPICS = "/admin/delete_topics"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
DEFAULT_ENTITY = "<default>"
GROUPS, CLIENT_METRICS = "groups", "client-metrics"
FREE_NAMES = (GROUPS, CLIENT_METRICS)
"""Types of entities whose names may be any text: no path could hold them as they are."""

ROOT_PATHS = (
    "/consumers",
    BROKERS,
    TOPICS,
    "/config/changes",
    DELETE_TOPICS,
    "/brokers/seqid",
    "/isr_change_notification",
    PRODUCER_ID_BLOCK,
    "/log_dir_event_notification",
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
    "/cluster",
)


class PartitionState(NamedTuple):
    """Leadership of one partition as stored; partition_epoch is the data version of its node."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    partition_epoch: int = 0


class TopicAssignment(NamedTuple):
    """Replicas of each partition of a topic, and its id (zero in trees of old Kafka)."""

    topic_id: bytes
    partitions: dict[int, tuple[int, ...]]


class ProducerIdBlock(NamedTuple):
    """Producer ids given to one broker; both bounds inclusive."""

    broker: int
    start: int
    end: int


def with_parents(paths: Iterable[str]) -> list[str]:
    """The paths and everything above them, each once, parents first."""
    found: dict[str, None] = {}
    for path in paths:
        parts = path.split("/")
        for depth in range(2, len(parts) + 1):
            found["/".join(parts[:depth])] = None
    return list(found)


def broker(broker_id: int) -> str:
    """The node of a live broker."""
    return f"{BROKERS}/{broker_id}"


def topic(name: str) -> str:
    """The node of a topic."""
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    """The parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, index: int) -> str:
    """The node of a partition."""
    return f"{TOPICS}/{name}/partitions/{index}"


def partition_state(name: str, index: int) -> str:
    """The node with a partition's leadership."""
    return f"{TOPICS}/{name}/partitions/{index}/state"


def config_parent(entity_type: str) -> str:
    """The node above the configs of all entities of that type."""
    return f"{CONFIG}/{entity_type}"


def config(entity_type: str, name: str) -> str:
    """The node with the configs of "topics", "brokers", "groups" or "client-metrics" `name`."""
    return f"{CONFIG}/{entity_type}/{_encode_name(name) if entity_type in FREE_NAMES else name}"


def config_entity(entity_type: str, node: str) -> str:
    """Inverse of `config`, from the last part of the path."""
    return _decode_name(node) if entity_type in FREE_NAMES else node


def delete_topic(name: str) -> str:
    """The mark of a topic to be deleted."""
    return f"{DELETE_TOPICS}/{name}"


def encode_topic(topic_id: bytes, replicas: Mapping[int, Sequence[int]]) -> bytes:
    """Data of a topic node; nothing is being reassigned."""
    return _encode(
        {
            "partitions": {str(index): list(ids) for index, ids in replicas.items()},
            "topic_id": topic_id_to_text(topic_id),
            "adding_replicas": {},
            "removing_replicas": {},
            "version": 3,
        }
    )


def decode_topic(data: bytes | None) -> TopicAssignment:
    """What a topic node says."""
    value = _decode(data)
    text = value.get("topic_id")
    return TopicAssignment(
        ZERO_TOPIC_ID if text is None else topic_id_from_text(text),
        {int(index): tuple(ids) for index, ids in value["partitions"].items()},
    )


def encode_partition_state(state: PartitionState) -> bytes:
    """Data of a state node."""
    return _encode(
        {
            "controller_epoch": state.controller_epoch,
            "leader": state.leader,
            "version": 1,
            "leader_epoch": state.leader_epoch,
            "isr": list(state.isr),
        }
    )


def decode_partition_state(data: bytes | None, version: int) -> PartitionState:
    """What a state node of that data version says."""
    value = _decode(data)
    return PartitionState(
        value["leader"],
        value["leader_epoch"],
        tuple(value["isr"]),
        value["controller_epoch"],
        version,
    )


def encode_config(values: Mapping[str, str]) -> bytes:
    """Data of a config node."""
    return _encode({"version": 1, "config": dict(values)})


def decode_config(data: bytes | None) -> dict[str, str]:
    """Configs of an entity; none for null data, as the parents of entities have."""
    return {} if not data else {key: str(value) for key, value in _decode(data)["config"].items()}


def encode_cluster_id(cluster_id: str) -> bytes:
    """Data of /cluster/id; its version is text."""
    return _encode({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes | None) -> str:
    """The cluster's id."""
    return str(_decode(data)["id"])


def encode_features(levels: Mapping[str, int]) -> bytes:
    """Data of /feature: the finalized levels; its data version is their epoch."""
    features = {name: {"max_version_level": level} for name, level in levels.items()}
    return _encode({"features": features, "version": 2, "status": 1})


def decode_features(data: bytes | None) -> dict[str, int]:
    """The finalized levels."""
    features = _decode(data).get("features", {})
    return {name: levels["max_version_level"] for name, levels in features.items()}


def encode_controller(broker_id: int, now_ms: int) -> bytes:
    """Data of /controller."""
    return _encode(
        {
            "version": 2,
            "brokerid": broker_id,
            "timestamp": str(now_ms),
            "kraftControllerEpoch": -1,
        }
    )


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    """Data of /latest_producer_id_block; its bounds are text."""
    return _encode(
        {
            "version": 1,
            "broker": block.broker,
            "block_start": str(block.start),
            "block_end": str(block.end),
        }
    )


def decode_producer_id_block(data: bytes | None) -> ProducerIdBlock | None:
    """The newest block, or None before the first."""
    if not data:
        return None
    value = _decode(data)
    return ProducerIdBlock(value["broker"], int(value["block_start"]), int(value["block_end"]))


def encode_broker(
    endpoints: Sequence[tuple[str, str, str, int]], rack: str | None, now_ms: int
) -> bytes:
    """Data of a live broker's node; an endpoint is (listener, security protocol, host, port).

    host and port name the first PLAINTEXT endpoint, for readers older than listeners.
    """
    plain = next((one for one in endpoints if one[1] == "PLAINTEXT"), None)
    value: dict[str, object] = {
        "features": {},
        "listener_security_protocol_map": {one[0]: one[1] for one in endpoints},
        "endpoints": [f"{one[0]}://{one[2]}:{one[3]}" for one in endpoints],
        "jmx_port": -1,
        "port": -1 if plain is None else plain[3],
        "host": None if plain is None else plain[2],
        "version": 5,
        "timestamp": str(now_ms),
    }
    if rack is not None:
        value["rack"] = rack
    return _encode(value)


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_DOTS = {".": "%2E", "..": "%2E%2E"}  # ZooKeeper would take them for directions.


def _encode_name(name: str) -> str:
    """As Kafka's `Sanitizer` does it for users."""
    parts = (
        one if one in _PLAIN else "".join(f"%{byte:02X}" for byte in one.encode()) for one in name
    )
    return _DOTS.get(name) or "".join(parts)


def _decode_name(text: str) -> str:
    first, *rest = text.split("%")
    return first + b"".join(bytes.fromhex(one[:2]) + one[2:].encode() for one in rest).decode()


_to_json = JSONEncoder(separators=(",", ":")).encode
_from_json = JSONDecoder().decode


def _encode(value: object) -> bytes:
    return _to_json(value).encode()


def _decode(data: bytes | None) -> dict[str, Any]:
    value = _from_json((data or b"{}").decode())
    assert isinstance(value, dict)
    return value
