"""Kafka for any test suite: a real broker a session, a fresh topic a test.

    def test_orders(tidelog, tidelog_topic):
        producer = Producer({"bootstrap.servers": tidelog.bootstrap_servers})
        producer.produce(tidelog_topic, b"hello")

Under pytest-xdist every worker has a broker of its own. A suite that wants other broker settings
overrides the session fixture `tidelog_overrides` with a dict of Kafka's property names.
"""

import itertools
import re
from collections.abc import Iterator

import pytest

from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic, delete_topic

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def tidelog_overrides() -> dict[str, object]:
    """Broker settings by Kafka's names; override this fixture to change them."""
    return {}


@pytest.fixture(scope="session")
def tidelog(
    tmp_path_factory: pytest.TempPathFactory, tidelog_overrides: dict[str, object]
) -> Iterator[Broker]:
    """A broker on a free port in a temporary folder, for the whole session."""
    broker = Broker(tmp_path_factory.mktemp("tidelog"), tidelog_overrides).start()
    yield broker
    broker.close()


@pytest.fixture
def tidelog_topic(tidelog: Broker, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a fresh topic with one partition, removed after the test."""
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", request.node.name)[:100]
    name = f"{readable}-{next(_numbers)}"
    create_topic(tidelog.bootstrap_servers, name)
    yield name
    delete_topic(tidelog.bootstrap_servers, name)
