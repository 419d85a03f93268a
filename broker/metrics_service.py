"""Brings the broker's numbers and the metrics endpoint together.

prometheus_client takes a tenth of a second to import, so a worker does it once the broker is
ready, or loads for long; a scrape that comes earlier waits for that import.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from broker.coordinator.group.coordinator import GroupCoordinator
from broker.load_progress import LoadProgress
from broker.log_cleaning import LogCleaning
from broker.metrics import declarations as names
from broker.metrics.client_families import client_pieces
from broker.metrics.declarations import Declared
from broker.metrics.endpoint import MetricsEndpoint
from broker.metrics.exposition import Exposition, load_library
from broker.metrics.families import Piece, pieces
from broker.metrics.group_families import group_pieces
from broker.metrics.loop_health import PROBE_MS, LoopHealth
from broker.metrics.sources import MetricSources, SourceFunctions
from broker.network.connection_limits import ConnectionLimits
from broker.network.socket_server import SocketServer
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.replication.replica_manager import ReplicaManager
from broker.request_metrics import RequestMetricsRegistry
from broker.telemetry.clients import ClientTelemetry
from cluster.metadata_cache import MetadataCache
from config.broker_config import BrokerConfig
from config.keys import observability
from runtime.blocking import Workers
from runtime.clock import Clock
from runtime.metrics import Summary
from runtime.scheduler import Scheduler
from storage.log_manager import LogManager

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_log = logging.getLogger(__name__)

EXPIRY_MS = 10_000
"""How often clients that were silent for too long are looked for."""
RUNNING = 3
"""The state of a broker that serves, by Kafka's number."""


class Observed(NamedTuple):
    """The parts of a broker that have numbers."""

    config: BrokerConfig
    clock: Clock
    scheduler: Scheduler
    workers: Workers
    replicas: ReplicaManager
    logs: LogManager
    sessions: FetchSessionCache
    socket_server: SocketServer
    connection_limits: ConnectionLimits
    requests: RequestMetricsRegistry
    fsync_s: Summary
    broker_state: Callable[[], int]
    failures: Callable[[], int]
    load_progress: LoadProgress
    log_cleaning: LogCleaning
    groups: GroupCoordinator
    client_telemetry: ClientTelemetry | None


class LoadedExposition(Exposition):
    """Renders only once the library is there: two threads must not import it at the same time."""

    _loaded: "asyncio.Future[None] | None" = None

    def library_loaded(self, _library: object, error: BaseException | None) -> None:
        """The worker's import has ended; one that failed is tried again by each scrape."""
        if error is not None:
            _log.error("prometheus_client could not be imported: %s", error)
        loaded = self._future()
        if not loaded.done():
            loaded.set_result(None)

    async def page(self, open_metrics: bool) -> bytes:
        """The page in one of the two formats."""
        await asyncio.shield(self._future())
        return await super().page(open_metrics)

    def _future(self) -> "asyncio.Future[None]":
        if self._loaded is None:
            self._loaded = asyncio.get_running_loop().create_future()
        return self._loaded


def make_endpoint(observed: Observed) -> MetricsEndpoint:
    """The endpoint over these parts; it serves once it is started."""
    health = LoopHealth(observed.clock)
    observed.scheduler.every("loop-health", PROBE_MS, PROBE_MS, health.probe)
    if observed.client_telemetry is not None:
        expire = partial(_expire, observed.client_telemetry, observed.clock)
        observed.scheduler.every("client-telemetry-expiry", EXPIRY_MS, EXPIRY_MS, expire)
    sources = MetricSources(
        observed.replicas,
        observed.requests,
        health,
        observed.fsync_s,
        SourceFunctions(
            broker_state=observed.broker_state,
            offline_directories=partial(_offline_directories, observed.logs),
            remaining_recovery=observed.load_progress.remaining,
            cleaner_gauges=partial(_cleaner_gauges, observed),
            fetch_sessions=partial(_fetch_sessions, observed.sessions),
            connections=lambda: observed.socket_server.open_by_listener,
            broker_addresses=partial(_broker_addresses, observed.replicas.metadata),
            own_counts=partial(_own_counts, observed),
            partition_limit=observed.config.live(observability.METRICS_PARTITION_LIMIT),
        ),
    )
    dialects = observed.config.live(observability.METRICS_DIALECTS)
    exposition = LoadedExposition(
        lambda: chain(
            pieces(sources),
            group_pieces(observed.groups, observed.replicas),
            _client_pieces(observed.client_telemetry),
        ),
        lambda: frozenset(dialects()),
        observed.clock,
        _process_metrics(),
    )
    observed.workers.submit(load_library, done=exposition.library_loaded)
    return MetricsEndpoint(
        exposition, lambda: observed.broker_state() == RUNNING, observed.workers.run
    )


def _client_pieces(telemetry: ClientTelemetry | None) -> Iterator[Piece]:
    return iter(()) if telemetry is None else client_pieces(telemetry)


def _expire(telemetry: ClientTelemetry, clock: Clock) -> None:
    telemetry.expire(int(clock.monotonic() * 1000))


def _process_metrics() -> "Callable[[], list[Metric]]":
    collectors: list[object] = []

    def collect() -> "list[Metric]":
        from prometheus_client import ProcessCollector

        if not collectors:
            collectors.append(ProcessCollector(registry=None))
        collector = collectors[0]
        assert isinstance(collector, ProcessCollector)
        return list(collector.collect())

    return collect


def _offline_directories(logs: LogManager) -> int:
    return sum(directory.offline for directory in logs.directories.values())


def _cleaner_gauges(observed: Observed) -> dict[Declared, dict[str, float]]:
    """Nothing before the cleaner was made."""
    cleaner = observed.log_cleaning.cleaner
    if cleaner is None:
        return {}
    facts, now_ms = cleaner.facts, observed.clock.now_ms()
    online = [
        path for path, directory in observed.logs.directories.items() if not directory.offline
    ]
    one: dict[Declared, float] = {
        names.CLEANER_DIRT: facts.max_dirty_percent,
        names.CLEANER_LAST_RUN: now_ms - facts.last_run_ms,
        names.CLEANER_RECOPY: facts.recopy_percent,
        names.CLEANER_TIME: facts.max_clean_time_ms / 1000,
        names.CLEANER_DELAY: facts.max_compaction_delay_ms / 1000,
        names.CLEANER_BUFFER: facts.max_buffer_utilization_percent,
        names.CLEANER_DEAD: facts.dead_thread_count,
    }
    return {
        **{family: {"": value} for family, value in one.items()},
        names.CLEANER_UNCLEANABLE: {path: len(cleaner.uncleanable(path)) for path in online},
        names.CLEANER_UNCLEANABLE_BYTES: {
            path: cleaner.uncleanable_bytes(path, now_ms) for path in online
        },
    }


def _fetch_sessions(sessions: FetchSessionCache) -> tuple[int, int]:
    return len(sessions), sessions.partitions_cached


def _broker_addresses(metadata: MetadataCache) -> dict[str, str]:
    addresses = {}
    for broker in metadata.brokers.values():
        endpoint = next(iter(broker.endpoints.values()), None)
        if endpoint is not None:
            addresses[str(broker.id)] = f"{endpoint.host}:{endpoint.port}"
    return addresses


def _own_counts(observed: Observed) -> dict[Declared, float]:
    server = observed.socket_server
    return {
        names.CONNECTIONS_REFUSED: observed.connection_limits.refused,
        names.BYTES_HELD: server.held_bytes,
        names.BAD_FRAMES: server.bad_frames + observed.requests.bad_frames,
        names.HANDLER_FAILURES: observed.requests.failures,
        names.JOB_FAILURES: observed.failures(),
        names.RECOVERY_LOGS: observed.load_progress.total,
        names.RECOVERED_LOGS: observed.load_progress.done,
        names.DAMAGED_LOGS: len(observed.logs.damaged),
    }
