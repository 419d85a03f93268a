"""DescribeConfigs: which resources are described, in what detail, and Kafka's errors."""

import pytest

from broker.handlers.describe_configs import handle_describe_configs
from config.broker_config import BrokerConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.support.config_ports import HeldLevels, context_of, metadata_of

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def describe(
    *resources: tuple[int, str, list[str] | None],
    synonyms: bool = False,
    documentation: bool = False,
) -> list[DescribeConfigsResult]:
    config = BrokerConfig({"node.id": "1", "num.partitions": "2"})
    config.set_dynamic({}, {"max.connections": "9"})
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=type_, resource_name=name, configuration_keys=keys
            )
            for type_, name, keys in resources
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    metadata = metadata_of({"t": {"retention.ms": "5"}, "broken": {"retention.ms": "x"}})
    metadata.group_configs.set("g", {"consumer.session.timeout.ms": "50000"})
    metadata.client_metrics.set("s", {"metrics": "a.,b.", "interval.ms": "100"})
    response = handle_describe_configs(
        context_of(request, 4),
        request,
        config=config,
        metadata=metadata,
        loggers=HeldLevels(),
    )
    again = DescribeConfigsResponse.decode(response.encode(4), 4)
    assert again == response
    return response.results


def test_a_topic_shows_33_settings_with_value_source_and_type() -> None:
    (result,) = describe((TOPIC, "t", None))
    assert (result.error_code, result.error_message) == (0, "")
    assert (result.resource_type, result.resource_name) == (TOPIC, "t")
    assert len(result.configs) == 33
    entry = next(entry for entry in result.configs if entry.name == "retention.ms")
    assert (entry.value, entry.config_source, entry.config_type) == ("5", 1, 5)
    assert (entry.read_only, entry.is_sensitive) == (False, False)
    assert (entry.synonyms, entry.documentation) == ([], None)


def test_no_keys_are_all_keys_and_unknown_ones_are_left_out() -> None:
    few, everything = describe((TOPIC, "t", ["retention.ms", "no"]), (TOPIC, "t", []))
    assert [entry.name for entry in few.configs] == ["retention.ms"]
    assert len(everything.configs) == 33


def test_synonyms_and_documentation_come_when_asked_for() -> None:
    (result,) = describe((TOPIC, "t", ["retention.ms"]), synonyms=True, documentation=True)
    (entry,) = result.configs
    assert [(s.name, s.value, s.source) for s in entry.synonyms] == [("retention.ms", "5", 1)]
    assert entry.documentation == "How long records are kept; -1 for ever."


def test_a_broker_shows_its_own_and_the_default_of_all_only_what_was_set() -> None:
    own, default = describe((BROKER, "1", None), (BROKER, "", None))
    values = {entry.name: entry.value for entry in own.configs}
    assert (values["num.partitions"], values["max.connections"]) == ("2", "9")
    assert [(e.name, e.value, e.config_source) for e in default.configs] == [
        ("max.connections", "9", 3)
    ]


def test_a_group_shows_17_settings_whether_it_exists_or_not() -> None:
    own, other = describe((GROUP, "g", None), (GROUP, "nobody", None), synonyms=True)
    assert (own.error_code, own.error_message) == (0, "")
    assert len(own.configs) == len(other.configs) == 17
    word = ("group.consumer.session.timeout.ms", "45000", 5)
    for result, value, source, synonyms in (
        (own, "50000", 8, [("consumer.session.timeout.ms", "50000", 8), word]),
        (other, "45000", 5, [word]),
    ):
        (entry,) = (e for e in result.configs if e.name == "consumer.session.timeout.ms")
        assert (entry.value, entry.config_source, entry.config_type) == (value, source, 3)
        assert [(s.name, s.value, s.source) for s in entry.synonyms] == synonyms
        assert (entry.read_only, entry.is_sensitive) == (False, False)


def test_a_subscription_shows_three_settings_and_only_its_own_synonyms() -> None:
    own, other = describe((CLIENT_METRICS, "s", None), (CLIENT_METRICS, "x", None), synonyms=True)
    assert [(e.name, e.value, e.config_source, len(e.synonyms)) for e in own.configs] == [
        ("interval.ms", "100", 7, 1),
        ("match", "", 5, 0),
        ("metrics", "a.,b.", 7, 1),
    ]
    assert [(e.name, e.value, e.config_source) for e in other.configs] == [
        ("interval.ms", "300000", 5),
        ("match", "", 5),
        ("metrics", "", 5),
    ]


def test_loggers_show_their_levels() -> None:
    everything, one = describe((LOGGER, "1", None), (LOGGER, "1", ["root"]))
    assert [e.name for e in everything.configs] == ["broker.dispatch", "root"]
    (entry,) = one.configs
    assert (entry.value, entry.config_source, entry.config_type) == ("INFO", 6, 0)
    assert (entry.documentation, entry.synonyms) == ("", [])


@pytest.mark.parametrize(
    ("type_", "name", "code", "message"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (
            TOPIC,
            "..",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: '..' is not allowed",
        ),
        (
            TOPIC,
            "broken",
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            BROKER,
            "9",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 or empty string, but received 9",
        ),
        (
            BROKER,
            "x",
            ErrorCode.INVALID_REQUEST,
            "Broker id must be an integer, but it is: x",
        ),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (
            CLIENT_METRICS,
            "",
            ErrorCode.INVALID_REQUEST,
            "Client metrics subscription name must not be empty",
        ),
        (
            LOGGER,
            "9",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 but received 9",
        ),
    ],
)
def test_one_resource_fails_without_the_others(
    type_: int, name: str, code: ErrorCode, message: str
) -> None:
    bad, good = describe((type_, name, None), (TOPIC, "t", None))
    assert (bad.error_code, bad.error_message, bad.configs) == (code, message, [])
    assert good.error_code == 0


@pytest.mark.parametrize("type_", [0, 1, 3, 15, 33, 99])
def test_a_type_that_is_not_served_refuses_the_whole_request(type_: int) -> None:
    with pytest.raises(KafkaError) as caught:
        describe((TOPIC, "t", None), (type_, "x", None))
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_REQUEST, None)


def test_what_is_asked_again_is_not_described_again() -> None:
    first, again, others = describe((TOPIC, "t", None), (TOPIC, "t", []), (TOPIC, "t", ["x"]))
    assert len(first.configs) == 33
    assert (again.error_code, again.configs) == (ErrorCode.INVALID_REQUEST, [])
    assert again.error_message == "Each resource must appear at most once."
    assert (others.error_code, others.configs) == (ErrorCode.NONE, [])
