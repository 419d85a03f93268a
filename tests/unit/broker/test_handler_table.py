"""What is advertised is what has a handler, in the versions of this release."""

from collections.abc import Coroutine, Sequence
from typing import Any, cast

from broker.coordinator.group.coordinator import GroupCoordinator
from broker.handler_table import Services, Transactions, make_handlers
from broker.handlers.api_versions import advertised
from broker.log_dir_moves import LogDirMoves
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.telemetry.clients import ClientTelemetry
from cluster.controller.auto_creation import AutoCreation
from cluster.controller.topics import NewTopic, TopicResult
from cluster.producer_ids import ProducerIdBlocks
from config.loading import load
from protocol.api_keys import ApiKey
from runtime.blocking import Workers
from tests.support.fake_cluster import Process
from tests.support.fake_store import FakeStore
from tests.support.loops import closed_loop
from tests.support.replicas import ReplicaBroker
from tests.support.served_apis import SERVED
from tests.support.telemetry import Telemetry
from tests.support.transactions import TransactionBroker


async def create_nothing(topics: Sequence[NewTopic]) -> list[TopicResult]:
    return []


def spawn_nothing(name: str, work: Coroutine[Any, Any, None]) -> None:
    work.close()


def ranges_of(client_telemetry: ClientTelemetry | None) -> dict[ApiKey, tuple[int, int]]:
    broker = ReplicaBroker()
    workers = Workers(closed_loop(), 1)
    services = Services(load(None, {}), broker.clock, workers, broker.logs, broker.replicas)
    store = FakeStore()
    services.sessions = FetchSessionCache(1, lambda n: 1)
    services.controller = Process(store, {}).controller
    services.auto_creation = AutoCreation(create_nothing, spawn_nothing, lambda: True, {})
    services.producer_ids = ProducerIdBlocks(store, 1, spawn_nothing)
    services.moves = LogDirMoves(broker.logs, lambda: broker.moves)
    services.client_telemetry = client_telemetry
    one = TransactionBroker(broker=broker)
    services.transactions = Transactions(one.coordinator, one.sender, one.writer, one.questions)
    services.groups = cast(GroupCoordinator, None)  # Only handed on.
    handlers = make_handlers(services)
    return {ApiKey(one.api_key): (one.min_version, one.max_version) for one in advertised(handlers)}


def test_every_api_of_this_release_has_a_handler() -> None:
    assert ranges_of(Telemetry().clients) == SERVED


def test_nobody_is_asked_for_metrics_that_nobody_would_see() -> None:
    push = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}
    assert set(ranges_of(None)) == set(SERVED) - push


def test_what_is_a_quorums_is_not_told_as_no_broker_over_zookeeper_does() -> None:
    assert not {ApiKey.DESCRIBE_QUORUM, ApiKey.UNREGISTER_BROKER} & set(SERVED)
