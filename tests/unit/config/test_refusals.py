"""Settings whose subject is not built: refused unless they ask for nothing."""

import pytest

from config.broker_config import BrokerConfig
from config.catalogue import KEYS
from config.definition import REFUSED, ConfigError, to_text
from config.refusals import check_built, unknown_names, why_refused

ALONE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
}


@pytest.mark.parametrize(
    "name", sorted(name for name, key in KEYS.items() if key.status == REFUSED)
)
def test_a_refused_setting_is_taken_at_its_default(name: str) -> None:
    text = to_text(KEYS[name].default)
    if text is not None:
        check_built(BrokerConfig({name: text}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ssl.keystore.location", "/x"),
        ("sasl.enabled.mechanisms", "PLAIN"),
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ("remote.log.storage.system.enable", "true"),
        ("metric.reporters", "x.Y"),
        ("create.topic.policy.class.name", "x.Y"),
        ("principal.builder.class", "x.Y"),
        ("security.inter.broker.protocol", "SSL"),
        ("zookeeper.connect", "localhost:2181"),
        ("zookeeper.anything", "1"),
        ("inter.broker.protocol.version", "3.9"),
        ("log.message.downconversion.enable", "false"),
        ("config.providers", "file"),
        ("listener.name.plaintext.ssl.keystore.location", "/x"),
        ("listener.name.plaintext.max.connections", "5"),
    ],
)
def test_a_setting_that_asks_for_what_is_not_built_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_built(BrokerConfig({name: value}))
    assert caught.value.key == name
    assert caught.value.value == value


def test_a_secret_is_not_shown_when_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        check_built(BrokerConfig({"ssl.key.password": "hunter2"}))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric.reporters", ""),
        ("controlled.shutdown.max.retries", "3"),
        ("zookeeper.set.acl", "false"),
        ("num.io.threads", "16"),
        ("my.own", "1"),
    ],
)
def test_what_asks_for_nothing_is_taken(name: str, value: str) -> None:
    assert why_refused(name, value) is None


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"controller.quorum.voters": "1@localhost:9093"},
        {"controller.quorum.bootstrap.servers": "localhost:9093"},
        {"controller.quorum.bootstrap.servers": "this-host:9093"},
        {"controller.quorum.bootstrap.servers": "localhost:9999"},
    ],
)
def test_a_single_self_managed_node_is_taken(more: dict[str, str]) -> None:
    check_built(BrokerConfig({**ALONE, **more}))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"process.roles": "controller"}, "write broker,controller"),
        ({"controller.quorum.voters": "1@a:1,2@b:1"}, "name this node alone, as 1@host:port"),
        ({"controller.quorum.voters": "2@a:1"}, "node.id, which is 1"),
        ({"controller.quorum.voters": "1"}, "name this node alone"),
        ({"controller.quorum.bootstrap.servers": "a:9093,b:9093"}, "several nodes"),
        (
            {"controller.quorum.bootstrap.servers": "other:9999", "process.roles": "broker"},
            "several nodes",
        ),
        ({"controller.quorum.auto.join.enable": "true"}, "no quorum to join"),
    ],
)
def test_a_quorum_of_others_is_refused(more: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        check_built(BrokerConfig({**ALONE, **more}))


def test_unknown_names_are_those_no_kafka_had() -> None:
    static = {"num.partition": "1", "zookeeper.connect": "", "num.partitions": "1"}
    assert unknown_names(static) == ["num.partition"]
