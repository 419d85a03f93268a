"""The broker process as a test holds it."""

import pytest

from pytest_tidelog.broker import Broker, BrokerFailed
from tests.interop.clients import CLIENTS, Sent


def test_the_ready_line_says_where_everything_is(tidelog: Broker) -> None:
    ready = tidelog.ready
    assert ready["event"] == "ready"
    assert ready["pid"] == tidelog.pid
    assert list(ready["listeners"].values()) == [tidelog.bootstrap_servers]
    assert ready["data_dirs"] == [str(tidelog.data_dir)]
    assert {"node_id", "cluster_id", "metrics", "start_ms"} <= ready.keys()


def test_address_and_data_stay_over_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = Broker(tmp_path_factory.mktemp("restart")).start()
    address = broker.bootstrap_servers
    CLIENTS["confluent"].produce(address, "kept", [Sent(b"k", b"v")], "none")
    broker.restart()
    assert broker.bootstrap_servers == address
    assert CLIENTS["confluent"].fetch(address, "kept", 1) == [Sent(b"k", b"v")]
    broker.kill()
    broker.restart()
    assert CLIENTS["confluent"].fetch(address, "kept", 1) == [Sent(b"k", b"v")]
    broker.close()


def test_a_broker_that_cannot_start_says_why(tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = Broker(tmp_path_factory.mktemp("bad"), {"log.retention.ms": "soon"})
    with pytest.raises(BrokerFailed, match=r"log\.retention\.ms"):
        broker.start()
