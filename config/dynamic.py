"""Changing settings while the broker runs: what a resource would hold afterwards, or why not.

Pure decisions. They answer the whole new map of a resource, or a `Refusal` that names Kafka's error
and says what Kafka says; one bad key refuses the whole resource. To replace what a resource holds
(the legacy AlterConfigs) is to alter an empty one. Sources: `ConfigAdminManager.scala`,
`ConfigurationControlManager.java`, `DynamicBrokerConfig.scala` of Kafka 4.3.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from config.broker_config import BrokerConfig
from config.catalogue import KEYS, LISTENER_PREFIX, find_key
from config.client_metrics_config import InvalidSubscription, client_metrics_config
from config.definition import PER_BROKER, READ_ONLY, ConfigError, Key, to_text
from config.group_config import validate_group_overrides
from config.refusals import why_refused
from config.relations import check_relations
from config.topic_config import TOPIC_KEYS, validate_topic_overrides

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
_NAMES = {APPEND: "append", SUBTRACT: "subtract"}

INVALID_CONFIG = "INVALID_CONFIG"
INVALID_REQUEST = "INVALID_REQUEST"

MAX_VALUE_LENGTH = 32767

THREAD_POOLS = (
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
CLEANER_THREADS = "log.cleaner.threads"

# Kafka changes these in a running broker; here they are read once.
_READ_AT_START = ("listeners", "listener.security.protocol.map")
_KEY_STORE = ("ssl.keystore.", "ssl.truststore.", "ssl.key.password")


class Operation(NamedTuple):
    """One change: SET, DELETE, APPEND or SUBTRACT of `value` on the setting `name`."""

    name: str
    kind: int
    value: str | None


class Refusal(Exception):
    """Why a resource stays as it is: the name of Kafka's error, and Kafka's text."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refusal) and self.args == other.args

    __hash__ = Exception.__hash__


Outcome = dict[str, str] | Refusal


def find_request_fault(names: Sequence[str], null_names: Sequence[str]) -> Refusal | None:
    """What is wrong with a resource of a request before anything is looked up."""
    if len(set(names)) != len(names):
        return Refusal(INVALID_REQUEST, "Error due to duplicate config keys")
    if null_names:
        return Refusal(INVALID_REQUEST, f"Null value not supported for : {','.join(null_names)}")
    return None


def alter_topic(
    broker: BrokerConfig, current: Mapping[str, str], operations: Iterable[Operation]
) -> Outcome:
    """What a topic that now sets `current` would set after `operations`."""
    try:
        changed = dict(current)
        for operation in operations:
            _apply(changed, operation, TOPIC_KEYS.get(operation.name), _refuse_topic_list)
        return _check_topic(broker, changed)
    except Refusal as refusal:
        return refusal


def alter_group(
    broker: BrokerConfig, current: Mapping[str, str], operations: Iterable[Operation]
) -> Outcome:
    """What a group that now sets `current` would set after `operations`."""
    try:
        changed = _changed(current, operations)
        validate_group_overrides(changed, broker)
    except Refusal as refusal:
        return refusal
    except ConfigError as error:
        return Refusal(INVALID_CONFIG, error.message)
    return changed


def alter_client_metrics(
    current: Mapping[str, str],
    operations: Iterable[Operation],
    is_pattern: Callable[[str], bool],
) -> Outcome:
    """What a subscription that now says `current` would say after `operations`."""
    try:
        changed = _changed(current, operations)
        client_metrics_config(changed, is_pattern)
    except Refusal as refusal:
        return refusal
    except InvalidSubscription as error:
        return Refusal(INVALID_REQUEST, error.message)
    except ConfigError as error:
        return Refusal(INVALID_CONFIG, error.message)
    return changed


def alter_broker(
    broker: BrokerConfig,
    current: Mapping[str, str],
    operations: Iterable[Operation],
    *,
    per_broker: bool,
) -> Outcome:
    """What this broker (or else the default of all), now `current`, holds after `operations`."""
    try:
        changed = dict(current)
        for operation in operations:
            _apply(changed, operation, find_key(operation.name), _refuse_broker_list)
        return _check_broker(broker, changed, per_broker=per_broker)
    except Refusal as refusal:
        return refusal


def _changed(current: Mapping[str, str], operations: Iterable[Operation]) -> dict[str, str]:
    """For resources of which Kafka knows no lists: there is nothing to append to."""
    changed = dict(current)
    for operation in operations:
        _apply(changed, operation, None, _refuse_topic_list)
    return changed


def _apply(
    changed: dict[str, str], operation: Operation, key: Key[Any] | None, refuse_list: Any
) -> None:
    """Change `changed` by one operation; a list starts from the declared default."""
    name, kind, value = operation
    if kind == DELETE:
        changed.pop(name, None)
    elif kind == SET:
        changed[name] = value or ""
    elif kind in (APPEND, SUBTRACT):
        if key is None or key.type != "list":
            refuse_list(name, kind)
        base = changed.get(name, to_text(key.default) if key is not None else None) or ""
        changed[name] = _changed_list(base, value or "", kind)
        if len(changed[name]) > MAX_VALUE_LENGTH:
            raise Refusal(
                INVALID_CONFIG,
                "The configuration value cannot be added because it exceeds the maximum value "
                f"size of {MAX_VALUE_LENGTH} bytes.",
            )
    else:
        raise Refusal(INVALID_REQUEST, f"Unknown operations type {kind}")


def _changed_list(base: str, argument: str, kind: int) -> str:
    members = base.split(",") if base else []
    for member in argument.split(","):
        if kind == APPEND and member not in members:
            members.append(member)
        elif kind == SUBTRACT and member in members:
            members.remove(member)
    return ",".join(members)


def _refuse_topic_list(name: str, kind: int) -> None:
    verb = _NAMES[kind].upper()
    raise Refusal(INVALID_CONFIG, f"Can't {verb} to key {name} because its type is not LIST.")


def _refuse_broker_list(name: str, kind: int) -> None:
    raise Refusal(
        INVALID_CONFIG, f"Config value {_NAMES[kind]} is not allowed for config key: {name}"
    )


def _check_topic(broker: BrokerConfig, changed: dict[str, str]) -> dict[str, str]:
    try:
        validate_topic_overrides(changed, broker)
    except ConfigError as error:
        raise Refusal(INVALID_CONFIG, error.message) from error
    return changed


def _check_broker(
    broker: BrokerConfig, changed: dict[str, str], *, per_broker: bool
) -> dict[str, str]:
    _check_scope(changed)
    for name, text in changed.items():
        key = find_key(name)
        if key is not None:
            _parse(key, text)
    if not per_broker:
        _refuse_all(
            "Cannot update these configs at default cluster level, broker id must be specified",
            [name for name in changed if _is_per_broker(name)],
        )
    _refuse_all(
        "Cannot update these configs dynamically yet, restart the broker with them",
        [name for name in _READ_AT_START if name in changed],
    )
    for name, text in changed.items():
        remedy = why_refused(name, text) if find_key(name) is not None else None
        if remedy is not None:
            raise Refusal(INVALID_REQUEST, f"{name} cannot be set: {remedy}")
    trial = broker.with_dynamic(
        changed if per_broker else broker.per_broker,
        broker.cluster_default if per_broker else changed,
    )
    try:
        check_relations(trial)
    except ConfigError as error:
        raise Refusal(INVALID_REQUEST, error.message) from error
    _check_threads(broker, trial)
    return changed


def _check_scope(changed: Mapping[str, str]) -> None:
    fixed = [name for name in changed if name in KEYS and KEYS[name].dynamic == READ_ONLY]
    _refuse_all("Cannot update these configs dynamically", fixed)
    _refuse_all(
        "These security configs can be dynamically updated only per-listener using the listener "
        "prefix",
        [name for name in changed if name in KEYS and name.startswith(_KEY_STORE)],
    )


def _is_per_broker(name: str) -> bool:
    key = KEYS.get(name)
    return name.startswith(LISTENER_PREFIX) if key is None else key.dynamic == PER_BROKER


def _refuse_all(message: str, names: Sequence[str]) -> None:
    if names:
        raise Refusal(INVALID_REQUEST, f"{message}: [{', '.join(sorted(names))}]")


def _parse(key: Key[Any], text: str) -> None:
    try:
        key.parse(text)
    except ConfigError as error:
        raise Refusal(INVALID_REQUEST, error.message) from error


def _check_threads(broker: BrokerConfig, trial: BrokerConfig) -> None:
    """Refuse more than twice or less than half the threads there are now."""
    for name in (*THREAD_POOLS, CLEANER_THREADS):
        now, asked = broker.value(name), trial.value(name)
        if asked == now or now // 2 <= asked <= now * 2:
            continue
        if name == CLEANER_THREADS:
            turn = "reduced to less than half" if asked < now else "increased to more than double"
            message = f"Log cleaner threads cannot be {turn}"
        else:
            turn = "be at least half" if asked < now else "not be greater than double"
            message = f"Dynamic thread count update validation failed for {name}={asked}, "
            message += f"value should {turn}"
        raise Refusal(INVALID_REQUEST, f"{message} the current value {now}")
