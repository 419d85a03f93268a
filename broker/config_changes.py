"""What the two alter-configs requests share: one resource, checked, then written by the controller.

A change is computed from what the controller holds at that moment, inside its queue, so that two
requests cannot overwrite each other's keys. All or nothing for each resource, none for the request.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from broker.telemetry.subscriptions import is_pattern
from cluster.controller.topics import name_error
from cluster.metadata_cache import MetadataCache
from config.broker_config import BrokerConfig
from config.dynamic import (
    Operation,
    Refusal,
    alter_broker,
    alter_client_metrics,
    alter_group,
    alter_topic,
    find_request_fault,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ResourceType

TOPICS, BROKERS = "topics", "brokers"
GROUPS, CLIENT_METRICS = "groups", "client-metrics"
CLUSTER_DEFAULT = "<default>"

Change = Callable[[Mapping[str, str]], Mapping[str, str]]


class ConfigWriter(Protocol):
    """The controller, as far as settings go."""

    async def change_configs(self, entity_type: str, name: str, change: Change) -> None:
        """Store what `change` makes of the settings held now; it refuses by raising KafkaError."""


class ResourceChange(NamedTuple):
    """What is asked of one resource; `replaces` drops whatever is not set here."""

    resource_type: int
    name: str
    operations: Sequence[Operation]
    replaces: bool


class ConfigChanges:
    """Checks changes of settings, and has them written."""

    def __init__(
        self, config: BrokerConfig, metadata: MetadataCache, controller: ConfigWriter
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._controller = controller

    async def make(self, change: ResourceChange, *, validate_only: bool) -> None:
        """Carry out `change`, or only check it. Raises KafkaError with Kafka's code and text."""
        if change.resource_type == ResourceType.TOPIC:
            await self._change_topic(change, validate_only=validate_only)
        elif change.resource_type == ResourceType.BROKER:
            await self._change_broker(change, validate_only=validate_only)
        elif change.resource_type == ResourceType.GROUP:
            await self._change_group(change, validate_only=validate_only)
        elif change.resource_type == ResourceType.CLIENT_METRICS:
            await self._change_client_metrics(change, validate_only=validate_only)
        else:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Unknown resource type {change.resource_type}"
            )

    async def _change_topic(self, change: ResourceChange, *, validate_only: bool) -> None:
        name = change.name
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        wrong = name_error(name)
        if wrong is not None:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)

        def altered(current: Mapping[str, str]) -> Mapping[str, str]:
            base = {} if change.replaces else current
            return _accepted(alter_topic(self._config, base, change.operations))

        altered(self._metadata.topic_overrides(name))
        unknown = KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
        if self._metadata.topic(name) is None:
            raise unknown
        if validate_only:
            return
        try:
            await self._controller.change_configs(TOPICS, name, altered)
        except KafkaError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise unknown from error

    async def _change_broker(self, change: ResourceChange, *, validate_only: bool) -> None:
        name = change.name
        if name:
            check_node_id(name, self._config.node_id)

        def altered(current: Mapping[str, str]) -> Mapping[str, str]:
            return _accepted(
                alter_broker(
                    self._config,
                    {} if change.replaces else current,
                    change.operations,
                    per_broker=bool(name),
                )
            )

        altered(self._config.per_broker if name else self._config.cluster_default)
        if not validate_only:
            await self._controller.change_configs(BROKERS, name or CLUSTER_DEFAULT, altered)

    async def _change_group(self, change: ResourceChange, *, validate_only: bool) -> None:
        if not change.name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")

        def altered(current: Mapping[str, str]) -> Mapping[str, str]:
            base = {} if change.replaces else current
            return _accepted(alter_group(self._config, base, change.operations))

        altered(self._metadata.group_configs.of(change.name))
        if not validate_only:
            await self._controller.change_configs(GROUPS, change.name, altered)

    async def _change_client_metrics(self, change: ResourceChange, *, validate_only: bool) -> None:
        if not change.name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")

        def altered(current: Mapping[str, str]) -> Mapping[str, str]:
            base = {} if change.replaces else current
            return _accepted(alter_client_metrics(base, change.operations, is_pattern))

        altered(self._metadata.client_metrics.of(change.name))
        if not validate_only:
            await self._controller.change_configs(CLIENT_METRICS, change.name, altered)


def check_node_id(name: str, node_id: int | None) -> None:
    """Raise unless `name` is this broker's number."""
    try:
        number = int(name)
    except ValueError:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}"
        ) from None
    if number != node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id}, but received {name}",
        )


def check_shape(names: Sequence[str], null_names: Sequence[str]) -> None:
    """Raise for keys that come twice or lack the value they need."""
    fault = find_request_fault(names, null_names)
    if fault is not None:
        raise KafkaError(ErrorCode[fault.reason], fault.message)


R = TypeVar("R")


async def answer_each(
    resources: Iterable[R],
    identify: Callable[[R], tuple[int, str]],
    carry_out: Callable[[R], Awaitable[None]],
) -> list[tuple[R, ErrorCode, str | None]]:
    """Carry out each resource by itself; one that comes twice is refused at each place."""
    resources = list(resources)
    counts = Counter(identify(resource) for resource in resources)
    answers: list[tuple[R, ErrorCode, str | None]] = []
    for resource in resources:
        try:
            if counts[identify(resource)] > 1:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, "Each resource must appear at most once."
                )
            await carry_out(resource)
        except KafkaError as error:
            answers.append((resource, error.code, error.message))
        else:
            answers.append((resource, ErrorCode.NONE, None))
    return answers


def _accepted(outcome: dict[str, str] | Refusal) -> dict[str, str]:
    if isinstance(outcome, Refusal):
        raise KafkaError(ErrorCode[outcome.reason], outcome.message)
    return outcome
