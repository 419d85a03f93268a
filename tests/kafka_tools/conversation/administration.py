"""Elections, reassignments, features, and settings of groups and of subscriptions to metrics."""

from collections.abc import Iterable, Sequence

from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafka_tools.conversation.cluster import asked
from tests.kafka_tools.conversation.settings import (
    APPEND,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    Changes,
    alter,
    change,
    describe,
)
from tests.kafka_tools.side import Step

Wanted = Sequence[tuple[str, Sequence[int]]]
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def _elect(
    name: str, version: int, wanted: Wanted | None, type_: int = 0, timeout: int = 9000
) -> Step:
    request = ElectLeadersRequest(
        election_type=type_,
        topic_partitions=None
        if wanted is None
        else [TopicPartitions(topic=topic, partitions=list(some)) for topic, some in wanted],
        timeout_ms=timeout,
    )
    return asked(f"elect-{name}-{type_}-v{version}", version, request, reads=False)


def elections() -> Iterable[Step]:
    some = [("c-plain", [0, 99]), ("c-missing", [0]), ("a b", [1]), ("c-other", [])]
    for version in range(3):
        yield _elect("all", version, None)
        yield _elect("some", version, some)
        yield _elect("nothing", version, [])
        yield _elect("no-time", version, some, timeout=0)
    for type_ in (1, 2, 5, -1):
        yield _elect("all", 2, None, type_)
        yield _elect("some", 1, some, type_)
        yield _elect("nothing-no-time", 2, [], type_, timeout=-1)
        yield _elect("no-time", 2, some, type_, timeout=0)


def _move(
    name: str,
    version: int,
    wanted: Sequence[tuple[str, int, Sequence[int] | None]],
    may_change_factor: bool = True,
    timeout: int = 9000,
) -> Step:
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=timeout,
        allow_replication_factor_change=may_change_factor,
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(
                        partition_index=index, replicas=None if some is None else list(some)
                    )
                ],
            )
            for topic, index, some in wanted
        ],
    )
    return asked(f"move-{name}-v{version}", version, request, reads=False)


def reassignments() -> Iterable[Step]:
    for version in (0, 1):
        yield _move("as-it-is", version, [("c-plain", 0, [1])])
        yield _move("stop", version, [("c-plain", 0, None), ("c-missing", 0, None)])
        for name, brokers in {"nowhere": [], "other": [2], "both": [1, 2], "twice": [1, 1]}.items():
            yield _move(name, version, [("c-plain", 0, brokers), ("c-plain", 1, [1])])
        yield _move("unknown", version, [("c-missing", 0, [1]), ("c-plain", 99, [1])])
        yield _move("nothing", version, [])
        yield _move("no-time", version, [("c-plain", 0, [1])], timeout=0)
        yield _move("nothing-no-time", version, [], timeout=0)
    yield _move("same-factor", 1, [("c-plain", 0, [1])], may_change_factor=False)
    yield _move("other-factor", 1, [("c-plain", 0, [1, 2])], may_change_factor=False)
    topic = ListPartitionReassignmentsTopics
    for name, topics in {
        "all": None,
        "none": [],
        "some": [topic(name="c-plain", partition_indexes=[0, 99]), topic(name="c-missing")],
    }.items():
        for timeout in (9000, 0):
            request = ListPartitionReassignmentsRequest(timeout_ms=timeout, topics=topics)
            yield asked(f"list-moves-{name}-{timeout}", 0, request)


def _finalize(
    name: str, version: int, updates: Sequence[tuple[str, int, int]], validate_only: bool = False
) -> Step:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(
                feature=feature,
                max_version_level=level,
                allow_downgrade=version == 0 and type_ != UPGRADE,
                upgrade_type=type_ if version > 0 else UPGRADE,
            )
            for feature, level, type_ in updates
        ],
        validate_only=validate_only,
    )
    return asked(f"features-{name}-v{version}", version, request, reads=False)


def features() -> Iterable[Step]:
    transactions, groups = "transaction.version", "group.version"
    for version in range(3):
        yield _finalize("as-they-are", version, [(transactions, 2, UPGRADE), (groups, 1, UPGRADE)])
        yield _finalize("too-high", version, [(transactions, 9, UPGRADE)])
        yield _finalize("one-bad", version, [(groups, 1, UPGRADE), (transactions, 3, UPGRADE)])
        yield _finalize("unknown", version, [("no.such.feature", 1, UPGRADE)])
        yield _finalize("down-by-upgrade", version, [(transactions, 1, UPGRADE)])
        yield _finalize("nothing", version, [])
    yield _finalize("down-allowed", 0, [(transactions, 1, SAFE)])
    yield _finalize("up-again", 0, [(transactions, 2, UPGRADE)])
    for version in (1, 2):
        yield _finalize("negative", version, [(groups, -1, SAFE)])
        yield _finalize("no-kind", version, [(groups, 1, 0)])
        yield _finalize("kind-9", version, [(groups, 1, 9)])
        yield _finalize("unknown-off", version, [("no.such.feature", 0, UPGRADE)])
        yield _finalize("up-by-downgrade", version, [(transactions, 3, SAFE)])
        yield _finalize("tried", version, [(transactions, 1, SAFE)], validate_only=True)
        yield _finalize("down", version, [(transactions, 1, SAFE if version == 1 else UNSAFE)])
        yield _finalize("up-by-safe-downgrade", version, [(transactions, 2, SAFE)])
        yield _finalize("up", version, [(transactions, 2, UPGRADE)])


def resources() -> Iterable[Step]:
    """Told twice: before anything is set for a group or a subscription, and after."""
    yield asked("resources-v0", 0, ListConfigResourcesRequest())
    for types in ([], [2], [4, 8], [16], [32], [32, 16, 2], [0], [3], [2, 99]):
        name = "-".join(map(str, types)) or "all"
        yield asked(f"resources-{name}-v1", 1, ListConfigResourcesRequest(resource_types=types))


def group_settings() -> Iterable[Step]:
    yield describe("group-unset", [(GROUP, "g", None)])
    yield describe("group-nameless", [(GROUP, "", None)])
    session, heartbeat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
    changes: dict[str, Changes] = {
        "set": [(session, SET, "50000"), ("share.isolation.level", SET, "read_committed")],
        "unknown-key": [("no.such.key", SET, "1")],
        "delete-unknown-key": [("no.such.key", DELETE, None)],
        "bad-value": [(session, SET, "x")],
        "too-small": [(session, SET, "0")],
        "below": [(session, SET, "1000")],
        "above": [(heartbeat, SET, "60000")],
        "assignment-above": [("consumer.assignment.interval.ms", SET, "15001")],
        "standby-above": [("streams.num.standby.replicas", SET, "3")],
        "share-reset": [("share.auto.offset.reset", SET, "by_duration:P1DT5.5S")],
        "share-reset-bad": [("share.auto.offset.reset", SET, "by_duration:-P1D")],
        "share-isolation-bad": [("share.isolation.level", SET, "x")],
        "renew-bad": [("share.renew.acknowledge.enable", SET, "x")],
        "append": [("share.isolation.level", APPEND, "x")],
        "null-value": [(session, SET, None)],
        "key-twice": [(session, SET, "50000"), (session, SET, "51000")],
        "operation-9": [(session, 9, "1")],
        "good-and-bad": [(heartbeat, SET, "6000"), ("no.such.key", SET, "1")],
        "delete": [(session, DELETE, None)],
        "nothing": [],
    }
    for name, wanted in changes.items():
        yield change(f"group-{name}-validated", [(GROUP, "g", wanted)], 1, True)
        yield change(f"group-{name}", [(GROUP, "g", wanted)])
        yield describe(f"after-group-{name}", [(GROUP, "g", None)], documentation=True)
    yield change("group-nameless", [(GROUP, "", changes["set"])])
    yield change("group-odd-name", [(GROUP, "a/b ☃", changes["set"])])
    yield describe("group-odd-name", [(GROUP, "a/b ☃", ["share.isolation.level", "no"])])
    yield alter("group", [(GROUP, "h", [(heartbeat, "6000")])])
    yield alter("group-again", [(GROUP, "h", [(session, "46000")])])
    yield describe("group-altered", [(GROUP, "h", None)])
    yield alter("group-to-nothing", [(GROUP, "h", [])])
    yield describe("group-altered-to-nothing", [(GROUP, "h", None)], synonyms=False)


def subscriptions() -> Iterable[Step]:
    yield describe("subscription-unset", [(CLIENT_METRICS, "s", None)])
    yield describe("subscription-nameless", [(CLIENT_METRICS, "", None)])
    changes: dict[str, Changes] = {
        "set": [("metrics", SET, "a.,b."), ("interval.ms", SET, "100")],
        "match": [("match", SET, "client_id=app-.*,client_software_name = x ")],
        "unknown-key": [("no.such.key", SET, "1")],
        "too-often": [("interval.ms", SET, "99")],
        "too-seldom": [("interval.ms", SET, "3600001")],
        "bad-interval": [("interval.ms", SET, "x")],
        "selector": [("match", SET, "foo=1")],
        "no-pattern": [("match", SET, "client_id=")],
        "bad-pattern": [("match", SET, "client_id=(")],
        "two-patterns": [("match", SET, "client_id=a=b")],
        "metrics-twice": [("metrics", SET, "a.,a.")],
        "metrics-empty": [("metrics", SET, "a.,,b.")],
        "no-metrics": [("metrics", SET, "")],
        "append": [("metrics", APPEND, "c.")],
        "delete": [("interval.ms", DELETE, None)],
        "nothing": [],
    }
    for name, wanted in changes.items():
        yield change(f"subscription-{name}-validated", [(CLIENT_METRICS, "s", wanted)], 1, True)
        yield change(f"subscription-{name}", [(CLIENT_METRICS, "s", wanted)])
        yield describe(
            f"after-subscription-{name}", [(CLIENT_METRICS, "s", None)], documentation=True
        )
    yield change("subscription-nameless", [(CLIENT_METRICS, "", changes["set"])])
    yield alter("subscription", [(CLIENT_METRICS, "r", [("metrics", "*")])])
    yield describe("subscription-altered", [(CLIENT_METRICS, "r", None)])
    yield alter("subscription-to-nothing", [(CLIENT_METRICS, "r", [])])


def administration() -> Iterable[Step]:
    yield from elections()
    yield from reassignments()
    yield from features()
    yield from resources()
    yield from group_settings()
    yield from subscriptions()
    for step in resources():
        yield step._replace(name=f"{step.name}-again")
