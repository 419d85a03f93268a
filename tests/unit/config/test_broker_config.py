"""Merged settings: precedence, live values, listeners of change, what follows from several keys."""

import pytest

from config.broker_config import BrokerConfig
from config.definition import ConfigError
from config.keys import log, network, node
from config.listeners import Endpoint


def test_a_value_set_for_this_broker_wins_over_all_brokers_file_and_default() -> None:
    config = BrokerConfig({"log.segment.bytes": "2000000"})
    assert BrokerConfig()[log.LOG_SEGMENT_BYTES] == 1073741824
    assert config[log.LOG_SEGMENT_BYTES] == 2000000
    config.set_dynamic({}, {"log.segment.bytes": "3000000"})
    assert config[log.LOG_SEGMENT_BYTES] == 3000000
    config.set_dynamic({"log.segment.bytes": "4000000"}, {"log.segment.bytes": "3000000"})
    assert config[log.LOG_SEGMENT_BYTES] == 4000000
    config.set_dynamic({}, {})
    assert config[log.LOG_SEGMENT_BYTES] == 2000000


def test_a_live_value_follows_and_listeners_learn_what_changed() -> None:
    config = BrokerConfig()
    live = config.live(network.MAX_CONNECTIONS)
    heard: list[frozenset[str]] = []
    config.on_change(heard.append)
    config.set_dynamic({"max.connections": "7"}, {"background.threads": "10"})
    config.set_dynamic({"max.connections": "7"}, {})
    assert live() == 7
    assert heard == [frozenset({"max.connections"})]


def test_stored_values_that_cannot_hold_are_left_out_and_told() -> None:
    config = BrokerConfig()
    errors = config.set_dynamic(
        {"max.connections": "many", "background.threads": "12", "num.partitions": "9", "my": "x"},
        {},
    )
    assert [error.key for error in errors] == ["max.connections"]
    assert config[network.BACKGROUND_THREADS] == 12
    assert config.value("num.partitions") == 1


def test_a_derived_value_is_computed_once_until_something_changes() -> None:
    config = BrokerConfig()
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        return len(calls)

    assert [config.derive("x", compute) for _ in range(3)] == [1, 1, 1]
    config.set_dynamic({"max.connections": "7"}, {})
    assert config.derive("x", compute) == 2


def test_a_copy_with_other_dynamic_values_leaves_the_original_alone() -> None:
    config = BrokerConfig({"max.connections": "5"})
    trial = config.with_dynamic({"max.connections": "9"}, {})
    assert (config[network.MAX_CONNECTIONS], trial[network.MAX_CONNECTIONS]) == (5, 9)


def test_node_id_and_broker_id_fill_each_other() -> None:
    assert BrokerConfig({"broker.id": "4"}).node_id == 4
    config = BrokerConfig({"node.id": "5"})
    assert (config.node_id, config[node.BROKER_ID]) == (5, 5)
    assert BrokerConfig({"node.id": "5", "broker.id": "5"}).node_id == 5
    with pytest.raises(ConfigError, match=r"You must set `node\.id` to the same value"):
        BrokerConfig({"node.id": "5", "broker.id": "6"})


def test_a_broker_without_a_number_is_given_one() -> None:
    assert BrokerConfig().node_id is None
    config = BrokerConfig({"broker.id": "-1"})
    assert config[node.NODE_ID] is None
    config.assign_node_id(3)
    assert (config.node_id, config[node.BROKER_ID]) == (3, 3)
    config.set_dynamic({"max.connections": "1"}, {})
    assert config.node_id == 3


def test_log_dirs_win_over_log_dir() -> None:
    assert BrokerConfig().log_dirs == ("/tmp/kafka-logs",)
    assert BrokerConfig({"log.dir": "/a"}).log_dirs == ("/a",)
    assert BrokerConfig({"log.dir": "/a", "log.dirs": "/b, /c"}).log_dirs == ("/b", "/c")


def test_controller_listeners_are_left_out_and_advertised_ones_default_to_listeners() -> None:
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://:9092,controller://:9093",
            "controller.listener.names": "CONTROLLER",
        }
    )
    assert config.listeners == (Endpoint("PLAINTEXT", "", 9092),)
    assert config.advertised_listeners == config.listeners
    config = BrokerConfig({"advertised.listeners": "PLAINTEXT://example.org:9092"})
    assert config.advertised_listeners == (Endpoint("PLAINTEXT", "example.org", 9092),)
    assert BrokerConfig({"advertised.listeners": ""}).advertised_listeners == (
        Endpoint("PLAINTEXT", "", 9092),
    )


def test_what_follows_from_several_keys() -> None:
    config = BrokerConfig()
    assert config.inter_broker_listener_name == "PLAINTEXT"
    assert config.request_memory_bytes == 2 * 104857600
    assert config.metrics_address == ("127.0.0.1", 9404)
    assert config.connections_by_address == {}
    config = BrokerConfig(
        {
            "inter.broker.listener.name": "inside",
            "queued.max.request.bytes": "200000000",
            "tidelog.metrics.listener": "off",
            "max.connections.per.ip.overrides": "10.0.0.1:5",
        }
    )
    assert config.inter_broker_listener_name == "INSIDE"
    assert config.request_memory_bytes == 200000000
    assert config.metrics_address is None
    assert config.connections_by_address == {"10.0.0.1": 5}


def test_an_error_names_where_the_value_was_written() -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig({"num.partitions": "0"}, sources={"num.partitions": "server.properties:7"})
    assert str(caught.value) == ("num.partitions=0 (server.properties:7): Value must be at least 1")
