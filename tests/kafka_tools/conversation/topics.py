"""Creating, growing, describing and deleting topics."""

from collections.abc import Iterable, Mapping

from protocol.api_keys import ApiKey
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafka_tools.conversation.batches import DAMAGED
from tests.kafka_tools.side import Side, Step

UNKNOWN_ID = bytes(range(16))
TIMEOUT_MS = 30_000

PREPARED: dict[str, tuple[int, dict[str, str]]] = {
    "c-plain": (3, {}),
    "c-other": (1, {}),
    "c-small": (1, {"max.message.bytes": "300"}),
    "c-compact": (1, {"cleanup.policy": "compact"}),
    "c-both": (1, {"cleanup.policy": "compact,delete"}),
    "c-append-time": (1, {"message.timestamp.type": "LogAppendTime"}),
    "c-before": (1, {"message.timestamp.before.max.ms": "1000"}),
    "c-min-insync": (1, {"min.insync.replicas": "2"}),
    "c-uncompressed": (1, {"compression.type": "uncompressed"}),
    "c-producers": (1, {}),
    "c-fetch": (2, {}),
    "c-records": (2, {}),
    "c-bad-batches": (len(DAMAGED), {}),
    "c-repeated": (1, {}),
    "c-empty": (1, {}),
    "c-set": (1, {"retention.ms": "123456789", "flush.messages": "77"}),
    "c.dotted": (1, {}),
}
"""Topics the conversation needs: partitions and settings."""


def wanted(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    configs: Mapping[str, str | None] | None = None,
    assignments: Mapping[int, list[int]] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in (assignments or {}).items()
        ],
    )


def create(
    name: str, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> Step:
    request = CreateTopicsRequest(
        topics=list(topics), timeout_ms=TIMEOUT_MS, validate_only=validate_only
    )
    return Step(f"create-{name}", version, lambda _: request, ApiKey.CREATE_TOPICS, reads=False)


def creations() -> Iterable[Step]:
    for name, (partitions, configs) in PREPARED.items():
        yield create(f"prepared-{name}", wanted(name, partitions, configs=configs))
    for version in range(2, 8):
        yield create(f"new-v{version}", wanted(f"c-new-{version}", 2), version=version)
        yield create(f"existing-v{version}", wanted("c-plain"), version=version)
        yield create(
            f"validated-v{version}", wanted("c-never", 4), version=version, validate_only=True
        )
    yield create("nothing")
    names = {
        "empty": "", "dot": ".", "dots": "..", "blank": "a b", "slash": "a/b", "umlaut": "ä",
        "longest": "l" * 249, "too-long": "l" * 250, "colliding": "c_dotted",
    }  # fmt: skip
    for name, topic_name in names.items():
        yield create(f"name-{name}", wanted(topic_name))
    for count in (0, -1, -2):
        yield create(f"partitions-{count}", wanted(f"c-partitions{count}", count))
    for count in (0, -1, -2, 2, 32767):
        yield create(f"replicas-{count}", wanted(f"c-replicas{count}", replicas=count))
    yield create("defaults", wanted("c-defaults", -1, -1))
    yield create("twice", wanted("c-twice"), wanted("c-twice"))
    yield create("twice-existing", wanted("c-plain"), wanted("c-plain"))
    yield create("good-and-bad", wanted("c-good"), wanted("c-bad", 0), wanted("a:b"))
    assignments: dict[str, dict[int, list[int]]] = {
        "good": {0: [1], 1: [1]}, "gap": {0: [1], 2: [1]}, "unknown-broker": {0: [7]},
        "broker-twice": {0: [1, 1]}, "no-brokers": {0: []}, "negative": {-1: [1]},
        "uneven": {0: [1], 1: [1, 2]}, "from-one": {1: [1]},
    }  # fmt: skip
    for name, assignment in assignments.items():
        topic = wanted(f"c-assigned-{name}", -1, -1, assignments=assignment)
        yield create(f"assigned-{name}", topic)
    yield create("assigned-and-counted", wanted("c-both-ways", 1, 1, assignments={0: [1]}))
    settings: dict[str, dict[str, str | None]] = {
        "unknown": {"no.such.key": "1"}, "not-a-number": {"retention.ms": "soon"},
        "null": {"retention.ms": None}, "out-of-range": {"min.insync.replicas": "0"},
        "policy": {"cleanup.policy": "shred"}, "empty-policy": {"cleanup.policy": ""},
        "small-segment": {"segment.bytes": "1000"}, "codec": {"compression.type": "rar"},
        "lag": {"max.compaction.lag.ms": "5", "min.compaction.lag.ms": "6"},
        "level": {"compression.gzip.level": "99"}, "boolean": {"preallocate": "yes"},
        "spaces": {"retention.ms": " 5000 "}, "format": {"message.format.version": "3.0"},
        "remote": {"remote.storage.enable": "true"}, "empty-number": {"retention.ms": ""},
        "retention-minus-2": {"retention.ms": "-2"}, "ratio": {"min.cleanable.dirty.ratio": "1.5"},
        "throttled": {"leader.replication.throttled.replicas": "0:1,1:1"},
        "throttled-wrong": {"leader.replication.throttled.replicas": "x"},
        "many": {"cleanup.policy": "compact, delete", "segment.ms": "100", "flush.ms": "1"},
        "local": {"local.retention.ms": "5"}, "upper-case": {"compression.type": "GZIP"},
        "overflow": {"segment.bytes": "2147483648"}, "plus": {"retention.ms": "+5"},
        "float": {"min.cleanable.dirty.ratio": ".5"}, "internal": {"internal.segment.bytes": "500"},
    }  # fmt: skip
    for name, config in settings.items():
        yield create(f"config-{name}", wanted(f"c-config-{name}", configs=config))


def metadata_request(names: Iterable[str | None], ids: Iterable[bytes] = ()) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    topics += [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def metadata(name: str, version: int, request: MetadataRequest, reads: bool = True) -> Step:
    return Step(f"metadata-{name}-v{version}", version, lambda _: request, ApiKey.METADATA, reads)


def descriptions() -> Iterable[Step]:
    for version in range(14):
        none = MetadataRequest(
            topics=None if version else [], allow_auto_topic_creation=version < 4
        )
        yield metadata("all", version, none)
        if version >= 4:
            yield metadata("some", version, metadata_request(["c-plain", "c-other", "c-plain"]))
            yield metadata("unknown", version, metadata_request(["c-missing", "a b", ""]))
            yield metadata("none", version, metadata_request([]))
        if version >= 8:
            asked = metadata_request(["c-plain"])
            asked.include_topic_authorized_operations = True
            asked.include_cluster_authorized_operations = version < 11
            yield metadata("operations", version, asked)
    yield metadata("created-by-asking", 3, MetadataRequest(
        topics=[MetadataRequestTopic(name="c-auto")]), reads=False)  # fmt: skip
    yield metadata("created-by-asking", 12, MetadataRequest(
        topics=[MetadataRequestTopic(name="c-auto-2")]), reads=False)  # fmt: skip
    yield metadata("created-by-asking-badly", 12, MetadataRequest(
        topics=[MetadataRequestTopic(name="a b")]), reads=False)  # fmt: skip
    for version in (10, 11, 12, 13):
        yield metadata("unknown-id", version, metadata_request([], [UNKNOWN_ID]))
        yield metadata("no-name-no-id", version, metadata_request([None]))
        yield Step(
            f"metadata-id-v{version}",
            version,
            lambda side: metadata_request([], [side.topic_ids["c-plain"]]),
            ApiKey.METADATA,
        )
        yield Step(f"metadata-id-and-name-v{version}", version, _id_and_name, ApiKey.METADATA)
    cursors = {
        "all": ([], 2000, None), "some": (["c-other", "c-plain"], 2000, None),
        "unknown": (["c-missing"], 2000, None), "limited": (["c-plain"], 1, None),
        "bad-name": (["a b"], 2000, None), "no-name": ([""], 2000, None),
        "limit-0": (["c-plain"], 0, None), "limit-negative": (["c-plain"], -1, None),
        "from": (["c-plain", "c-other"], 10, ("c-plain", 1)),
        "from-beyond": (["c-plain"], 10, ("c-plain", 9)),
        "from-unknown": (["c-plain"], 10, ("c-missing", 0)),
        "from-negative": (["c-plain"], 10, ("c-plain", -1)),
        "twice": (["c-plain", "c-plain"], 2000, None),
    }  # fmt: skip
    for name, (topics, limit, cursor) in cursors.items():
        described = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=topic) for topic in topics],
            response_partition_limit=limit,
            cursor=Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None,
        )
        yield Step(
            f"describe-partitions-{name}",
            0,
            lambda _, described=described: described,  # type: ignore[misc]
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        )


def _id_and_name(side: Side) -> MetadataRequest:
    topic = MetadataRequestTopic(name="c-other", topic_id=side.topic_ids["c-plain"])
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def grow(
    name: str,
    *topics: tuple[str, int, list[list[int]] | None],
    version: int = 3,
    validate_only: bool = False,
) -> Step:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=topic,
                count=count,
                assignments=None
                if brokers is None
                else [CreatePartitionsAssignment(broker_ids=ids) for ids in brokers],
            )
            for topic, count, brokers in topics
        ],
        timeout_ms=TIMEOUT_MS,
        validate_only=validate_only,
    )
    return Step(f"grow-{name}", version, lambda _: request, ApiKey.CREATE_PARTITIONS, reads=False)


def growths() -> Iterable[Step]:
    for version in range(4):
        yield grow(f"v{version}", ("c-new-2", 3 + version, None), version=version)
        yield grow(
            f"validated-v{version}", ("c-new-2", 50, None), version=version, validate_only=True
        )
    yield grow("same", ("c-plain", 3, None))
    yield grow("fewer", ("c-plain", 2, None))
    yield grow("zero", ("c-plain", 0, None))
    yield grow("negative", ("c-plain", -1, None))
    yield grow("unknown", ("c-missing", 2, None))
    yield grow("bad-name", ("a b", 2, None))
    yield grow("twice", ("c-new-3", 3, None), ("c-new-3", 4, None))
    yield grow("good-and-bad", ("c-new-4", 3, None), ("c-missing", 4, None))
    yield grow("assigned", ("c-new-5", 3, [[1]]))
    yield grow("assigned-too-few", ("c-new-5", 5, [[1]]))
    yield grow("assigned-unknown-broker", ("c-new-5", 4, [[9]]))
    yield grow("assigned-nobody", ("c-new-5", 4, [[]]))
    yield grow("assigned-twice", ("c-new-5", 4, [[1, 1]]))
    yield grow("assigned-none", ("c-new-5", 4, []))
    yield grow("nothing")


def delete(name: str, *topics: str, version: int = 5) -> Step:
    request = DeleteTopicsRequest(
        topic_names=list(topics),
        topics=[DeleteTopicState(name=topic) for topic in topics],
        timeout_ms=TIMEOUT_MS,
    )
    return Step(f"delete-{name}", version, lambda _: request, ApiKey.DELETE_TOPICS, reads=False)


def deletions() -> Iterable[Step]:
    for version in range(1, 7):
        yield delete(f"v{version}", f"c-new-{version + 1}", version=version)
        yield delete(f"unknown-v{version}", "c-missing", version=version)
        yield delete(f"bad-names-v{version}", "a b", "", version=version)
    yield delete("nothing", version=6)
    yield delete("twice", "c-good", "c-good", version=6)
    yield delete("twice-unknown", "c-missing", "c-missing", version=5)
    by_id = {
        "unknown-id": DeleteTopicState(name=None, topic_id=UNKNOWN_ID),
        "id-and-name": DeleteTopicState(name="c-plain", topic_id=UNKNOWN_ID),
        "neither": DeleteTopicState(name=None),
    }
    for name, state in by_id.items():
        request = DeleteTopicsRequest(topics=[state], timeout_ms=TIMEOUT_MS)
        yield Step(
            f"delete-{name}",
            6,
            lambda _, request=request: request,  # type: ignore[misc]
            ApiKey.DELETE_TOPICS,
            reads=False,
        )
    yield Step("delete-by-id", 6, _by_id, ApiKey.DELETE_TOPICS, reads=False)
    yield metadata("after-deletions", 12, MetadataRequest(topics=None))


def _by_id(side: Side) -> DeleteTopicsRequest:
    state = DeleteTopicState(name=None, topic_id=side.topic_ids["c-defaults"])
    return DeleteTopicsRequest(topics=[state], timeout_ms=TIMEOUT_MS)
