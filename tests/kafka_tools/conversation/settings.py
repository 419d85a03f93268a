"""Reading and changing settings of topics and brokers."""

from collections.abc import Iterable, Sequence

from protocol.api_keys import ApiKey
from protocol.messages import alter_configs, incremental_alter_configs
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.kafka_tools.side import Step

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
BROKER_KEYS = (
    "log.retention.ms", "num.network.threads", "log.cleaner.threads", "compression.type",
    "message.max.bytes", "background.threads", "max.connections", "auto.create.topics.enable",
)  # fmt: skip


def describe(
    name: str,
    wanted: Sequence[tuple[int, str, Sequence[str] | None]],
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
) -> Step:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=kind,
                resource_name=resource,
                configuration_keys=None if keys is None else list(keys),
            )
            for kind, resource, keys in wanted
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    return Step(
        f"describe-configs-{name}-v{version}", version, lambda _: request, ApiKey.DESCRIBE_CONFIGS
    )


def descriptions() -> Iterable[Step]:
    for version in range(1, 5):
        yield describe("topic", [(TOPIC, "c-set", None)], version)
        yield describe("topic-briefly", [(TOPIC, "c-set", None)], version, synonyms=False)
        yield describe("broker-keys", [(BROKER, "1", BROKER_KEYS)], version)
        yield describe("unknown", [(TOPIC, "c-missing", None), (TOPIC, "a b", None)], version)
    yield describe("documented", [(TOPIC, "c-set", None)], documentation=True)
    yield describe("some-keys", [(TOPIC, "c-set", ["retention.ms", "no.such.key", "retention.ms"])])
    yield describe("no-keys", [(TOPIC, "c-set", [])])
    yield describe("defaults-of-brokers", [(BROKER, "", None)])
    for name in ("2", "abc", "-1", "01"):
        yield describe(f"broker-{name}", [(BROKER, name, BROKER_KEYS)])
    yield describe(
        "twice", [(TOPIC, "c-set", ["retention.ms"]), (TOPIC, "c-set", ["retention.ms"])]
    )
    yield describe("empty-topic-name", [(TOPIC, "", None)])
    for kind in (0, 1, 3, 99, -1):
        yield describe(f"kind-{kind}", [(kind, "x", None)])
    yield describe("logger-2", [(LOGGER, "2", None)])
    yield describe("logger-empty", [(LOGGER, "", None)])
    yield describe("nothing", [])


def alter(
    name: str,
    wanted: Sequence[tuple[int, str, Sequence[tuple[str, str | None]]]],
    version: int = 2,
    validate_only: bool = False,
) -> Step:
    request = alter_configs.AlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=resource,
                configs=[alter_configs.AlterableConfig(name=k, value=v) for k, v in configs],
            )
            for kind, resource, configs in wanted
        ],
        validate_only=validate_only,
    )
    return Step(f"alter-{name}-v{version}", version, lambda _: request, ApiKey.ALTER_CONFIGS, False)


def replacements() -> Iterable[Step]:
    for version in range(3):
        good = [(TOPIC, "c-other", [("retention.ms", str(1000 + version))])]
        yield alter("good", good, version)
        yield alter("validated", [(TOPIC, "c-other", [("flush.ms", "5")])], version, True)
        yield alter("unknown-topic", [(TOPIC, "c-missing", [("flush.ms", "5")])], version)
        yield describe(f"after-alter-{version}", [(TOPIC, "c-other", None)])
    yield alter("unknown-key", [(TOPIC, "c-other", [("no.such.key", "5")])])
    yield alter("bad-value", [(TOPIC, "c-other", [("retention.ms", "x")])])
    yield alter("null-value", [(TOPIC, "c-other", [("retention.ms", None)])])
    yield alter("key-twice", [(TOPIC, "c-other", [("flush.ms", "5"), ("flush.ms", "6")])])
    yield alter("twice", [(TOPIC, "c-other", []), (TOPIC, "c-other", [])])
    yield alter("kind-99", [(99, "x", [])])
    yield alter("empty-topic", [(TOPIC, "", [("flush.ms", "5")])])
    yield alter("bad-name", [(TOPIC, "a b", [("flush.ms", "5")])])
    yield alter("to-nothing", [(TOPIC, "c-other", [])])
    yield describe("after-replacements", [(TOPIC, "c-other", None)])
    yield alter("nothing", [])


Changes = Sequence[tuple[str, int, str | None]]


def change(
    name: str,
    wanted: Sequence[tuple[int, str, Changes]],
    version: int = 1,
    validate_only: bool = False,
) -> Step:
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[
            incremental_alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=resource,
                configs=[
                    incremental_alter_configs.AlterableConfig(
                        name=key, config_operation=operation, value=value
                    )
                    for key, operation, value in changes
                ],
            )
            for kind, resource, changes in wanted
        ],
        validate_only=validate_only,
    )
    return Step(
        f"change-{name}-v{version}",
        version,
        lambda _: request,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        False,
    )


def topic_changes() -> Iterable[Step]:
    changes: dict[str, Changes] = {
        "set": [("retention.ms", SET, "5000")],
        "set-again": [("retention.ms", SET, "5000")],
        "unknown-key": [("no.such.key", SET, "1")],
        "delete-unknown-key": [("no.such.key", DELETE, None)],
        "bad-value": [("retention.ms", SET, "x")],
        "null-value": [("retention.ms", SET, None)],
        "append": [("cleanup.policy", APPEND, "compact")],
        "append-again": [("cleanup.policy", APPEND, "compact")],
        "subtract": [("cleanup.policy", SUBTRACT, "delete")],
        "subtract-missing": [("cleanup.policy", SUBTRACT, "delete")],
        "append-bad": [("cleanup.policy", APPEND, "shred")],
        "append-number": [("retention.ms", APPEND, "5")],
        "subtract-number": [("retention.ms", SUBTRACT, "5")],
        "key-twice": [("flush.ms", SET, "5"), ("flush.ms", SET, "6")],
        "set-and-delete": [("flush.ms", SET, "5"), ("flush.ms", DELETE, None)],
        "two-keys": [("flush.ms", SET, "5"), ("segment.ms", SET, "600000")],
        "good-and-bad-key": [("flush.ms", SET, "6"), ("segment.bytes", SET, "1")],
        "operation-9": [("flush.ms", 9, "5")],
        "operation-minus": [("flush.ms", -1, "5")],
        "delete": [("flush.ms", DELETE, None)],
        "delete-with-value": [("segment.ms", DELETE, "7")],
        "delete-unset": [("flush.messages", DELETE, None)],
        "append-null": [("cleanup.policy", APPEND, None)],
        "contradiction": [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")],
        "empty-list": [("cleanup.policy", SET, "")],
        "insync": [("min.insync.replicas", SET, "3")],
        "nothing": [],
    }
    for name, wanted in changes.items():
        for version in (0, 1):
            yield change(f"{name}-validated", [(TOPIC, "c-set", wanted)], version, True)
        yield change(name, [(TOPIC, "c-set", wanted)])
        yield describe(f"after-change-{name}", [(TOPIC, "c-set", None)])
    yield change("unknown-topic", [(TOPIC, "c-missing", changes["set"])])
    yield change("bad-topic", [(TOPIC, "a b", changes["set"])])
    yield change("empty-topic", [(TOPIC, "", changes["set"])])
    yield change("kind-99", [(99, "x", changes["set"])])
    yield change("kind-0", [(0, "x", changes["set"])])
    yield change("twice", [(TOPIC, "c-set", changes["set"])] * 2)
    yield change(
        "good-and-bad",
        [(TOPIC, "c-set", changes["set"]), (TOPIC, "c-missing", changes["set"])],
    )
    yield change("no-resources", [])


def broker_changes() -> Iterable[Step]:
    changes: dict[str, Changes] = {
        "cluster-wide": [("log.retention.ms", SET, "86400000")],
        "per-broker-key": [("background.threads", SET, "6")],
        "read-only": [("node.id", SET, "5")],
        "bad-value": [("message.max.bytes", SET, "x")],
        "unknown-key": [("no.such.key", SET, "x")],
        "out-of-range": [("message.max.bytes", SET, "-1")],
        "threads-doubled-twice": [("background.threads", SET, "400")],
        "delete": [("log.retention.ms", DELETE, None), ("background.threads", DELETE, None)],
    }
    for name, wanted in changes.items():
        for broker in ("", "1"):
            who = broker or "all"
            yield change(f"broker-{name}-{who}-validated", [(BROKER, broker, wanted)], 1, True)
            yield change(f"broker-{name}-{who}", [(BROKER, broker, wanted)])
            yield describe(f"after-broker-{name}-{who}", [(BROKER, "1", BROKER_KEYS)])
            yield describe(f"all-after-broker-{name}-{who}", [(BROKER, "", None)])
            yield describe(f"topic-after-broker-{name}-{who}", [(TOPIC, "c-other", None)])
    yield change("broker-2", [(BROKER, "2", changes["cluster-wide"])])
    yield change("broker-abc", [(BROKER, "abc", changes["cluster-wide"])])
