"""The fixtures as a user's test suite has them."""

from pytest_tidelog.broker import Broker
from tests.interop.clients import CLIENTS, Sent


def test_a_topic_is_fresh_for_every_test(tidelog: Broker, tidelog_topic: str) -> None:
    records = [Sent(b"k", b"v")]
    client = CLIENTS["confluent"]
    assert client.produce(tidelog.bootstrap_servers, tidelog_topic, records, "none") == [0]
    assert client.fetch(tidelog.bootstrap_servers, tidelog_topic, 1) == records


def test_the_topic_is_named_for_its_test(tidelog_topic: str) -> None:
    assert tidelog_topic.startswith("test_the_topic_is_named_for_its_test")
