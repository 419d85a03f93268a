import json

import pytest

from cluster.controller.messages import Endpoint, LiveBroker
from cluster.membership import register_and_lead
from cluster.store.opening import create_root_paths
from cluster.store.port import NodeExists
from tests.support.fake_cluster import BROKER, CLUSTER_ID, NOW_MS
from tests.support.fake_store import FakeStore


async def prepared() -> FakeStore:
    store = FakeStore()
    await create_root_paths(store, CLUSTER_ID)
    return store


async def test_the_first_controller_has_epoch_one_and_each_later_one_more() -> None:
    store = await prepared()
    first = await register_and_lead(store, BROKER, NOW_MS)
    store = store.reopen()
    second = await register_and_lead(store, BROKER, NOW_MS)
    assert (first.controller_epoch, first.epoch_version) == (1, 1)
    assert (second.controller_epoch, second.epoch_version) == (2, 2)
    assert second.broker_epoch > first.broker_epoch


async def test_registration_and_election_are_one_commit() -> None:
    store = await prepared()
    before = store.changes
    await register_and_lead(store, BROKER, NOW_MS)
    assert store.changes == before + 1


async def test_a_broker_that_is_there_already_is_not_replaced() -> None:
    store = await prepared()
    await register_and_lead(store, BROKER, NOW_MS)
    with pytest.raises(NodeExists):
        await register_and_lead(store, BROKER, NOW_MS)


async def test_a_broker_tells_all_its_listeners_and_its_rack() -> None:
    store = await prepared()
    endpoints = {"IN": Endpoint("10.0.0.1", 9092, "SSL"), "OUT": Endpoint("h", 9093)}
    await register_and_lead(store, LiveBroker(7, endpoints, "r1"), NOW_MS)
    node = await store.get("/brokers/ids/7")
    assert node is not None
    assert node.data is not None
    assert json.loads(node.data) == {
        "features": {},
        "listener_security_protocol_map": {"IN": "SSL", "OUT": "PLAINTEXT"},
        "endpoints": ["IN://10.0.0.1:9092", "OUT://h:9093"],
        "jmx_port": -1,
        "port": 9093,
        "host": "h",
        "version": 5,
        "timestamp": str(NOW_MS),
        "rack": "r1",
    }
