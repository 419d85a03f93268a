"""Which topics may be created, grown and deleted, and what a client is told when not.

Pure decisions: a request and a view of the cluster give plans and refusals, in the order and the
words of Kafka 4.3 (ReplicationControlManager, ControllerApis; order of checks: name, collision,
existence, null values, configs, counts or assignment). A refusal without message stands for an
error whose code says it all: clients get a null message then.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from cluster.controller.placement import Random, place, place_more
from config.definition import ConfigError
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ZERO_TOPIC_ID

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
MAX_PARTITIONS_PER_REQUEST = 10_000
MAX_NAME_LENGTH = 249
DEFAULT = -1

_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

Replicas = dict[int, tuple[int, ...]]


class NewTopic(NamedTuple):
    """A topic as asked for; DEFAULT leaves a count to the broker's settings.

    assignments are (partition, brokers) in the order sent; configs may repeat a key: the last wins.
    """

    name: str
    num_partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


class Growth(NamedTuple):
    """A topic and how many partitions it shall have in all; without assignments they are placed."""

    name: str
    total: int
    assignments: Sequence[Sequence[int]] | None = None


class TopicPlan(NamedTuple):
    """A topic that will be created just so."""

    name: str
    topic_id: bytes
    replicas: Replicas
    configs: dict[str, str]


class TopicResult(NamedTuple):
    """What a client is told of one topic; counts are -1 and the id zero when it was refused."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: bytes = ZERO_TOPIC_ID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = {}


class TopicPolicy(NamedTuple):
    """The settings and sources that creation draws on; the counts are read at each use."""

    num_partitions: Callable[[], int]
    replication_factor: Callable[[], int]
    check_configs: Callable[[Mapping[str, str]], None]
    """Raises ConfigError, whose message clients are told."""
    new_topic_id: Callable[[], bytes]
    random: Random


class TopicNames:
    """Names in use, found by the form in which "." and "_" are one: metrics cannot tell them."""

    def __init__(self) -> None:
        self._by_form: dict[str, set[str]] = {}

    def add(self, name: str) -> None:
        """A topic of that name exists."""
        if _collides(name):
            self._by_form.setdefault(name.replace(".", "_"), set()).add(name)

    def remove(self, name: str) -> None:
        """It no longer does."""
        if _collides(name):
            self._by_form.get(name.replace(".", "_"), set()).discard(name)

    def colliding(self, name: str) -> str | None:
        """Another name in use with the same form."""
        others = self._by_form.get(name.replace(".", "_"), ()) if _collides(name) else ()
        return min((other for other in others if other != name), default=None)


def name_error(name: str) -> str | None:
    """Why a topic cannot have that name, in Kafka's words."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in {".", ".."}:
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL.issuperset(name):
        reason = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'"
        )
    else:
        return None
    return f"Topic name is invalid: {reason}"


def without_duplicates(topics: Sequence[NewTopic]) -> tuple[list[NewTopic], list[TopicResult]]:
    """The topics worth deciding on, and the answers of those refused for their name alone.

    A name that comes twice is refused once, and none of its copies is created.
    """
    counts: dict[str, int] = {}
    for topic in topics:
        counts[topic.name] = counts.get(topic.name, 0) + 1
    once = [topic for topic in topics if counts[topic.name] == 1]
    refused = [duplicate(name) for name, count in counts.items() if count > 1]
    refused += [
        TopicResult(
            topic.name,
            ErrorCode.INVALID_REQUEST,
            f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited.",
        )
        for topic in once
        if topic.name == CLUSTER_METADATA_TOPIC
    ]
    return [topic for topic in once if topic.name != CLUSTER_METADATA_TOPIC], refused


def check_partition_sum(topics: Sequence[NewTopic], default_count: int) -> None:
    """Raise POLICY_VIOLATION for the whole request when it asks for too many partitions."""
    total = 0
    for topic in topics:
        if topic.assignments:
            total += len(topic.assignments)
        else:
            count = default_count if topic.num_partitions == DEFAULT else topic.num_partitions
            total += max(count, 0)
    _check_total(total)


def plan_topic(
    topic: NewTopic,
    existing: Container[str],
    names: TopicNames,
    live: Sequence[int],
    policy: TopicPolicy,
) -> TopicPlan:
    """How the topic will be created, or KafkaError with the first thing wrong with it."""
    _check_name(topic.name, existing, names)
    configs = _checked_configs(topic.configs, policy)
    replicas = _manual_replicas(topic, live) if topic.assignments else None
    if replicas is None:
        replicas = _placed_replicas(topic, live, policy)
    return TopicPlan(topic.name, policy.new_topic_id(), replicas, configs)


def created(plan: TopicPlan) -> TopicResult:
    """The answer for a topic that was, or would be, created."""
    return TopicResult(
        plan.name,
        topic_id=plan.topic_id,
        num_partitions=len(plan.replicas),
        replication_factor=len(plan.replicas[0]),
        configs=plan.configs,
    )


def refused(name: str, error: KafkaError) -> TopicResult:
    """The answer for a topic that was refused."""
    return TopicResult(name, error.code, error.message)


def duplicate(name: str) -> TopicResult:
    """The answer for a name that came more than once."""
    return TopicResult(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def plan_growth(growth: Growth, existing: Replicas, live: Sequence[int]) -> Replicas:
    """Replicas of the partitions to add, or KafkaError with the first thing wrong."""
    have = len(existing)
    if growth.total == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if growth.total < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {growth.name} currently has {have} partition(s);"
            f" {growth.total} would not be an increase.",
        )
    _check_total(growth.total - have)
    replication_factor = len(existing[0])
    if growth.assignments is None:
        _check_replication_factor(replication_factor, live)
        return place_more(live, existing, growth.total)
    additional = growth.total - have
    if len(growth.assignments) != additional:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s),"
            f" but only {len(growth.assignments)} assignment(s) were specified.",
        )
    replicas = {}
    for index, brokers in enumerate(growth.assignments, start=have):
        check_assignment(brokers, live, replication_factor)
        replicas[index] = tuple(brokers)
    return replicas


def _check_name(name: str, existing: Container[str], names: TopicNames) -> None:
    wrong = name_error(name)
    if wrong is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    if name in existing:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = names.colliding(name)
    if other is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {other}",
        )


def _checked_configs(
    configs: Sequence[tuple[str, str | None]], policy: TopicPolicy
) -> dict[str, str]:
    without_value = ",".join(key for key, value in dict(configs).items() if value is None)
    if without_value:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {without_value}",
        )
    values = {key: value for key, value in dict(configs).items() if value is not None}
    try:
        policy.check_configs(values)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, error.message) from error
    return values


def _manual_replicas(topic: NewTopic, live: Sequence[int]) -> Replicas:
    for count, what in (
        (topic.replication_factor, "replication factor"),
        (topic.num_partitions, "numPartitions"),
    ):
        if count != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    replicas: Replicas = {}
    replication_factor = None
    for index, brokers in topic.assignments:
        if index in replicas:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        check_assignment(brokers, live, replication_factor)
        replication_factor = len(brokers)
        replicas[index] = tuple(brokers)
    if any(index not in replicas for index in range(len(replicas))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return dict(sorted(replicas.items()))


def check_assignment(
    brokers: Sequence[int], live: Sequence[int], replication_factor: int | None
) -> None:
    """Raise for brokers that cannot hold a partition together; None allows any number of them."""

    def refuse(reason: str) -> KafkaError:
        return KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {reason}"
        )

    if not brokers:
        raise refuse("includes an empty replica list.")
    previous = None
    for broker in sorted(brokers):
        if broker not in live:
            raise refuse(f"includes broker {broker}, but no such broker is registered.")
        if broker == previous:
            raise refuse(f"includes the broker {broker} more than once.")
        previous = broker
    if replication_factor is not None and len(brokers) != replication_factor:
        raise refuse(
            f"includes a partition with {len(brokers)} replica(s), but this is not consistent"
            f" with previous partitions, which have {replication_factor} replica(s)."
        )


def _placed_replicas(topic: NewTopic, live: Sequence[int], policy: TopicPolicy) -> Replicas:
    replication_factor, count = topic.replication_factor, topic.num_partitions
    if replication_factor == 0 or replication_factor < DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if count == 0 or count < DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    if replication_factor == DEFAULT:
        replication_factor = policy.replication_factor()
    if count == DEFAULT:
        count = policy.num_partitions()
    _check_replication_factor(replication_factor, live)
    return place(live, count, replication_factor, policy.random)


def _check_replication_factor(replication_factor: int, live: Sequence[int]) -> None:
    if replication_factor > len(live):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target"
            f" replication factor of {replication_factor} cannot be reached because only"
            f" {len(live)} broker(s) are registered or some brokers have all their log directories"
            " cordoned.",
        )


def _check_total(total: int) -> None:
    if total > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )


def _collides(name: str) -> bool:
    return "." in name or "_" in name
