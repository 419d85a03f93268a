"""Changes while the broker runs: the new map, or Kafka's error and words."""

import pytest

from config.broker_config import BrokerConfig
from config.dynamic import (
    APPEND,
    DELETE,
    INVALID_CONFIG,
    INVALID_REQUEST,
    SET,
    SUBTRACT,
    Operation,
    Refusal,
    alter_broker,
    alter_client_metrics,
    alter_group,
    alter_topic,
    find_request_fault,
)


def topic(current: dict[str, str], *operations: tuple[str, int, str | None]) -> object:
    return alter_topic(BrokerConfig(), current, [Operation(*o) for o in operations])


def broker(
    *operations: tuple[str, int, str | None],
    static: dict[str, str] | None = None,
    current: dict[str, str] | None = None,
    per_broker: bool = True,
) -> object:
    return alter_broker(
        BrokerConfig(static),
        current or {},
        [Operation(*o) for o in operations],
        per_broker=per_broker,
    )


def test_a_request_names_each_key_once_and_gives_it_a_value() -> None:
    assert find_request_fault(["a", "b"], []) is None
    assert find_request_fault(["a", "a"], ["a"]) == Refusal(
        INVALID_REQUEST, "Error due to duplicate config keys"
    )
    assert find_request_fault(["a"], ["a"]) == Refusal(
        INVALID_REQUEST, "Null value not supported for : a"
    )


def test_set_and_delete_change_only_their_key() -> None:
    assert topic({"retention.ms": "5", "segment.ms": "7"}, ("retention.ms", SET, "6")) == {
        "retention.ms": "6",
        "segment.ms": "7",
    }
    assert topic({"retention.ms": "5"}, ("retention.ms", DELETE, None)) == {}


def test_deleting_what_is_absent_or_unknown_succeeds() -> None:
    assert topic({}, ("retention.ms", DELETE, None), ("nobody", DELETE, None)) == {}
    assert broker(("num.partitions", DELETE, None)) == {}


@pytest.mark.parametrize(
    ("current", "kind", "argument", "result"),
    [
        (None, APPEND, "compact", "delete,compact"),
        ("compact", APPEND, "delete", "compact,delete"),
        ("compact", APPEND, "compact", "compact"),
        ("compact,delete", SUBTRACT, "compact", "delete"),
        ("compact", SUBTRACT, "delete", "compact"),
        ("compact", SUBTRACT, "compact", ""),
        (None, SUBTRACT, "delete", ""),
        ("", APPEND, "compact", "compact"),
        ("", APPEND, "compact,delete", "compact,delete"),
    ],
)
def test_lists_grow_and_shrink_from_the_own_value_or_the_declared_default(
    current: str | None, kind: int, argument: str, result: str
) -> None:
    held = {} if current is None else {"cleanup.policy": current}
    config = BrokerConfig({"log.cleanup.policy": "compact"})
    operation = Operation("cleanup.policy", kind, argument)
    assert alter_topic(config, held, [operation]) == {"cleanup.policy": result}


@pytest.mark.parametrize(
    ("operation", "reason", "message"),
    [
        (
            ("retention.ms", APPEND, "1"),
            INVALID_CONFIG,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            ("foo", SUBTRACT, "1"),
            INVALID_CONFIG,
            "Can't SUBTRACT to key foo because its type is not LIST.",
        ),
        (("foo", SET, "1"), INVALID_CONFIG, "Unknown topic config name: foo"),
        (
            ("retention.ms", SET, "soon"),
            INVALID_CONFIG,
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        (("retention.ms", 9, "1"), INVALID_REQUEST, "Unknown operations type 9"),
        (
            ("leader.replication.throttled.replicas", APPEND, "1:1," * 10000),
            INVALID_CONFIG,
            "The configuration value cannot be added because it exceeds the maximum value size "
            "of 32767 bytes.",
        ),
    ],
)
def test_one_bad_key_refuses_the_topic(
    operation: tuple[str, int, str | None], reason: str, message: str
) -> None:
    if operation[2] is not None and len(operation[2]) > 1000:
        members = ",".join(f"{number}:1" for number in range(8000))
        operation = (operation[0], operation[1], members)
    assert topic({}, ("segment.ms", SET, "7"), operation) == Refusal(reason, message)


def test_the_result_is_judged_as_a_whole() -> None:
    refusal = topic({"max.compaction.lag.ms": "10"}, ("min.compaction.lag.ms", SET, "11"))
    assert isinstance(refusal, Refusal)
    assert refusal.message.startswith("conflict topic config setting")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num.partitions", "3", "Cannot update these configs dynamically: [num.partitions]"),
        (
            "ssl.keystore.location",
            "/x",
            "These security configs can be dynamically updated only per-listener using the "
            "listener prefix: [ssl.keystore.location]",
        ),
        (
            "num.io.threads",
            "0",
            "Invalid value 0 for configuration num.io.threads: Value must be at least 1",
        ),
        (
            "num.io.threads",
            "17",
            "Dynamic thread count update validation failed for num.io.threads=17, value should "
            "not be greater than double the current value 8",
        ),
        (
            "num.io.threads",
            "3",
            "Dynamic thread count update validation failed for num.io.threads=3, value should "
            "be at least half the current value 8",
        ),
        (
            "log.cleaner.threads",
            "3",
            "Log cleaner threads cannot be increased to more than double the current value 1",
        ),
        (
            "listeners",
            "PLAINTEXT://:1",
            "Cannot update these configs dynamically yet, restart the broker with them: "
            "[listeners]",
        ),
        (
            "metric.reporters",
            "x.Y",
            "metric.reporters cannot be set: metrics are served to Prometheus at "
            "tidelog.metrics.listener: remove this line",
        ),
        (
            "listener.name.in.ssl.keystore.location",
            "/x",
            "listener.name.in.ssl.keystore.location cannot be set: TLS, SASL and authorization "
            "are not built yet: remove this line",
        ),
        (
            "log.retention.ms",
            "0",
            "log.retention.ms=0: must be unlimited (-1) or, greater than or equal to 1",
        ),
    ],
)
def test_a_bad_broker_value_is_an_invalid_request(name: str, value: str, message: str) -> None:
    assert broker((name, SET, value)) == Refusal(INVALID_REQUEST, message)


def test_cleaner_threads_are_not_cut_below_half() -> None:
    refusal = broker(("log.cleaner.threads", SET, "1"), static={"log.cleaner.threads": "4"})
    assert refusal == Refusal(
        INVALID_REQUEST,
        "Log cleaner threads cannot be reduced to less than half the current value 4",
    )


@pytest.mark.parametrize("name", ["listeners", "listener.name.in.my.own"])
def test_settings_of_one_broker_cannot_be_set_for_all(name: str) -> None:
    assert broker((name, SET, "PLAINTEXT://:1"), per_broker=False) == Refusal(
        INVALID_REQUEST,
        "Cannot update these configs at default cluster level, broker id must be specified: "
        f"[{name}]",
    )


def test_names_a_broker_does_not_know_are_stored() -> None:
    assert broker(("my.plugin", SET, "x"), current={"max.connections": "5"}) == {
        "max.connections": "5",
        "my.plugin": "x",
    }


def test_a_good_value_is_taken_for_one_broker_or_for_all() -> None:
    for per_broker in (True, False):
        assert broker(("num.io.threads", SET, "16"), per_broker=per_broker) == {
            "num.io.threads": "16"
        }
    assert broker(("log.cleanup.policy", APPEND, "compact"), per_broker=False) == {
        "log.cleanup.policy": "delete,compact"
    }


def test_only_lists_of_a_broker_are_appended_to() -> None:
    for kind, word in ((APPEND, "append"), (SUBTRACT, "subtract")):
        assert broker(("num.io.threads", kind, "1")) == Refusal(
            INVALID_CONFIG, f"Config value {word} is not allowed for config key: num.io.threads"
        )


def group(current: dict[str, str], *operations: tuple[str, int, str | None]) -> object:
    return alter_group(BrokerConfig(), current, [Operation(*o) for o in operations])


def subscription(current: dict[str, str], *operations: tuple[str, int, str | None]) -> object:
    return alter_client_metrics(
        current, [Operation(*o) for o in operations], lambda text: text != "("
    )


def test_a_group_is_checked_as_it_would_be() -> None:
    assert group(
        {"share.isolation.level": "read_committed"},
        ("share.isolation.level", DELETE, ""),
        ("consumer.session.timeout.ms", SET, "50000"),
    ) == {"consumer.session.timeout.ms": "50000"}
    assert group({}, ("nobody", DELETE, None)) == {}
    assert group({}, ("consumer.session.timeout.ms", SET, "1000")) == Refusal(
        INVALID_CONFIG,
        "consumer.session.timeout.ms must be greater than or equal to "
        "group.consumer.min.session.timeout.ms",
    )
    assert group({}, ("share.isolation.level", 9, "x")) == Refusal(
        INVALID_REQUEST, "Unknown operations type 9"
    )


def test_a_subscription_is_refused_for_its_names_otherwise_than_for_its_patterns() -> None:
    assert subscription({"metrics": "a."}, ("interval.ms", SET, "100")) == {
        "metrics": "a.",
        "interval.ms": "100",
    }
    assert subscription({}, ("interval.ms", SET, "50")) == Refusal(
        INVALID_REQUEST,
        "Invalid value 50 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
    )
    assert subscription({}, ("match", SET, "client_id=(")) == Refusal(
        INVALID_CONFIG, "Illegal client matching pattern: client_id=("
    )
    assert subscription({}, ("interval.ms", SET, "soon")) == Refusal(
        INVALID_CONFIG, "Invalid value soon for configuration interval.ms: Not a number of type INT"
    )


@pytest.mark.parametrize("kind", [APPEND, SUBTRACT])
def test_nothing_is_appended_to_what_kafka_knows_no_list_of(kind: int) -> None:
    verb = "APPEND" if kind == APPEND else "SUBTRACT"
    assert subscription({}, ("metrics", kind, "a.")) == Refusal(
        INVALID_CONFIG, f"Can't {verb} to key metrics because its type is not LIST."
    )
    assert group({}, ("share.isolation.level", kind, "a")) == Refusal(
        INVALID_CONFIG, f"Can't {verb} to key share.isolation.level because its type is not LIST."
    )
