"""Data that a Kafka 3.9.1 broker wrote, read and written again."""

import json

import pytest

from cluster import znodes
from cluster.znodes import PartitionState, ProducerIdBlock, TopicAssignment
from protocol.model import ZERO_TOPIC_ID, topic_id_from_text

TOPIC = (
    b'{"partitions":{"0":[2,1,3],"1":[3,2,1]},"topic_id":"DZUr9_GdQx-T32JXnujbjg",'
    b'"adding_replicas":{},"removing_replicas":{},"version":3}'
)
STATE = b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,1,3]}'
CLUSTER = b'{"version":"1","id":"fZSON9t1SVCaDJyFHjGfqw"}'
CONFIG = b'{"version":1,"config":{"retention.ms":"3600000","max.message.bytes":"200000"}}'
BLOCK = b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}'
CONTROLLER = b'{"version":2,"brokerid":1,"timestamp":"1795279098367","kraftControllerEpoch":-1}'
BROKER = (
    b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
    b'"endpoints":["PLAINTEXT://127.0.0.1:19191"],"jmx_port":-1,"port":19191,'
    b'"host":"127.0.0.1","version":5,"timestamp":"1795279098153"}'
)


def test_topics_as_kafka_writes_them() -> None:
    assignment = znodes.decode_topic(TOPIC)
    topic_id = topic_id_from_text("DZUr9_GdQx-T32JXnujbjg")
    assert assignment == TopicAssignment(topic_id, {0: (2, 1, 3), 1: (3, 2, 1)})
    assert znodes.encode_topic(topic_id, assignment.partitions) == TOPIC


def test_a_topic_of_an_old_kafka_has_no_id() -> None:
    assert znodes.decode_topic(b'{"partitions":{}}').topic_id == ZERO_TOPIC_ID


def test_partition_states_as_kafka_writes_them() -> None:
    state = znodes.decode_partition_state(STATE, 5)
    assert state == PartitionState(2, 0, (2, 1, 3), 1, 5)
    assert znodes.encode_partition_state(state) == STATE


def test_the_cluster_id_as_kafka_writes_it() -> None:
    assert znodes.decode_cluster_id(CLUSTER) == "fZSON9t1SVCaDJyFHjGfqw"
    assert znodes.encode_cluster_id("fZSON9t1SVCaDJyFHjGfqw") == CLUSTER


def test_configs_as_kafka_writes_them() -> None:
    config = {"retention.ms": "3600000", "max.message.bytes": "200000"}
    assert znodes.decode_config(CONFIG) == config
    assert znodes.encode_config(config) == CONFIG
    assert znodes.decode_config(None) == {}


def test_producer_id_blocks_as_kafka_writes_them() -> None:
    block = ProducerIdBlock(1, 0, 999)
    assert znodes.decode_producer_id_block(BLOCK) == block
    assert znodes.encode_producer_id_block(block) == BLOCK
    assert znodes.decode_producer_id_block(None) is None


def test_the_controller_and_brokers_as_kafka_writes_them() -> None:
    assert znodes.encode_controller(1, 1795279098367) == CONTROLLER
    endpoints = [("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 19191)]
    assert znodes.encode_broker(endpoints, None, 1795279098153) == BROKER


def test_a_broker_without_a_plaintext_listener_has_no_host_for_old_readers() -> None:
    value = json.loads(znodes.encode_broker([("S", "SSL", "h", 1)], None, 0))
    assert (value["host"], value["port"]) == (None, -1)


def test_parents_come_before_their_children_and_once() -> None:
    assert znodes.with_parents(["/a/b/c", "/a/d"]) == ["/a", "/a/b", "/a/b/c", "/a/d"]


def test_paths_are_kafkas() -> None:
    assert znodes.broker(1) == "/brokers/ids/1"
    assert znodes.partition_state("t", 3) == "/brokers/topics/t/partitions/3/state"
    assert znodes.partition("t", 3) == "/brokers/topics/t/partitions/3"
    assert znodes.partitions("t") == "/brokers/topics/t/partitions"
    assert znodes.config("brokers", "<default>") == "/config/brokers/<default>"
    assert znodes.delete_topic("t") == "/admin/delete_topics/t"


@pytest.mark.parametrize("name", ["g", "a/b", "..", ".", "a b%+~*", "größe", "\u6587/", "%2F", "-"])
def test_names_of_groups_may_be_any_text(name: str) -> None:
    path = znodes.config("groups", name)
    node = path.removeprefix("/config/groups/")
    assert "/" not in node
    assert node not in (".", "..")
    assert node.isascii()
    assert znodes.config_entity("groups", node) == name


def test_names_of_groups_are_written_as_kafka_writes_those_of_users() -> None:
    assert znodes.config("client-metrics", "a b/c~") == "/config/client-metrics/a%20b%2Fc%7E"
    assert znodes.config("topics", "a.b") == "/config/topics/a.b"
    assert znodes.config_entity("brokers", "<default>") == "<default>"


def test_features_as_kafka_writes_them() -> None:
    assert znodes.encode_features({}) == b'{"features":{},"version":2,"status":1}'
    levels = {"transaction.version": 2}
    assert znodes.decode_features(znodes.encode_features(levels)) == levels
    assert znodes.decode_features(None) == {}
