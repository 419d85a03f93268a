"""Topics made and removed over one blocking socket."""

import pytest

from protocol.errors import ErrorCode, KafkaError
from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic, delete_topic


def test_a_topic_is_made_with_its_partitions(tidelog: Broker) -> None:
    from confluent_kafka.admin import AdminClient

    create_topic(tidelog.bootstrap_servers, "plugin-made", partitions=3)
    seen = AdminClient({"bootstrap.servers": tidelog.bootstrap_servers}).list_topics(timeout=10)
    assert len(seen.topics["plugin-made"].partitions) == 3


def test_the_brokers_refusal_is_raised(tidelog: Broker) -> None:
    with pytest.raises(KafkaError) as refused:
        create_topic(tidelog.bootstrap_servers, "not a name")
    assert refused.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_topic_that_is_gone_already_is_no_error(tidelog: Broker) -> None:
    delete_topic(tidelog.bootstrap_servers, "plugin-never-made")
