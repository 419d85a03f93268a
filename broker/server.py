"""The life of a broker: its parts are made, in order, started, and taken down again.

    start   bind ports │ lock and identify directories │ open metadata │ read topics │ load logs
            │ elect │ accept │ ready │ memory settled
    stop    accept no more, let requests in flight end │ jobs end │ logs flushed and closed,
            checkpoints, clean mark │ metadata closed

The order of a start is that of what it may refuse: until the identity is known nothing is written,
and no client is accepted before its data can be served. Metrics are served as soon as a client
could be, or a quarter of a second into a loading that takes longer. The parts are made by
`broker.assembly`; what they have to tell one another against that order goes through here.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from broker.addresses import (
    BoundSockets,
    advertised_endpoints,
    bind_listeners,
    bound_text,
)
from broker.assembly import (
    Platform,
    job_intervals,
    make_base,
    make_jobs,
    make_logs,
    make_moves,
    make_replicas,
    make_services,
    make_socket_server,
)
from broker.data_directories import (
    Identity,
    StartFailed,
    open_directories,
    partition_directories,
    read_identity,
    release,
    storage_refusal,
    write_identity,
)
from broker.handler_table import Services
from broker.jobs import JobRunner
from broker.live_settings import LiveSettings
from broker.load_progress import LoadInterrupted, LoadProgress
from broker.log_cleaning import LogCleaning
from broker.log_flushing import flush_all
from broker.log_loading import run_load_tasks
from broker.network.connection_limits import ConnectionLimits
from broker.network.listener import SocketOptions
from broker.network.socket_server import SocketServer
from broker.process import age_ms, raise_file_limit, settle_memory, stop_on_signals
from broker.replication.replica_manager import ReplicaManager
from broker.request_metrics import RequestMetricsRegistry
from cluster.controller.messages import LiveBroker
from cluster.metadata_cache import MetadataCache
from cluster.store.embedded import STORE_FILE, EmbeddedStore
from cluster.store.opening import open_embedded_store
from cluster.store.port import StartupRefused
from config.broker_config import BrokerConfig
from config.keys import log, network, node, observability
from config.listeners import Endpoint
from protocol.model import TopicPartition
from storage.errors import StorageError
from storage.log.partition_log import PartitionLog
from storage.log_directory import LogDirectory
from storage.log_jobs import LogJobs
from storage.log_manager import LogManager

if TYPE_CHECKING:
    from broker.metrics.endpoint import MetricsEndpoint

_log = logging.getLogger(__name__)

IN_FLIGHT_S: Final = 10.0
"""How long requests in flight may take to end once the broker stops."""
TASKS_S: Final = 5.0
RELEASE: Final = "release-waiting-readers"
RELEASE_MS: Final = 50
"""Pace at which those are answered who begin to wait while connections are being ended."""
LONG_LOAD_S: Final = 0.25
"""A start that takes longer than this is watched while it loads; a shorter one pays nothing."""
EXIT_FAILED: Final = 1
STARTING: Final = 1
RECOVERY: Final = 2
RUNNING: Final = 3
STOPPING: Final = 7
"""States of the broker by Kafka's numbers."""


class Server:
    """One broker. `start` once, then `stop` once."""

    def __init__(self, config: BrokerConfig, platform: Platform) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._base = base = make_base(config, platform, loop)
        self._platform = platform
        self.config = config
        self.clock = platform.clock
        self.scheduler = base.scheduler
        self.supervisor = base.supervisor
        self.workers = base.workers
        self.requests = RequestMetricsRegistry()
        self.load_progress = LoadProgress(self.clock)
        self._directories: list[LogDirectory] = []
        self._sockets: BoundSockets = {}
        self._file_limit = 0
        self.cluster_id = ""
        self.node_id = -1
        self._store: EmbeddedStore
        self.logs: LogManager
        self.replicas: ReplicaManager
        self.services: Services
        self.socket_server: SocketServer
        self._jobs: JobRunner
        self._log_jobs: LogJobs
        self.log_cleaning: LogCleaning
        self._settings: LiveSettings
        self.state = STARTING
        self._connection_limits = ConnectionLimits(
            config.live(network.MAX_CONNECTIONS),
            config.live(network.MAX_CONNECTIONS_PER_IP),
            lambda: config.connections_by_address,
        )
        self._metrics: MetricsEndpoint | None = None
        self._metrics_socket: socket.socket | None = None
        self.failed: asyncio.Future[None] = loop.create_future()
        """Done when no log directory is left to serve from."""

    # Start.

    async def start(self) -> None:
        """Serve clients once this returns.

        Raises StartFailed, or LoadInterrupted, with everything given back.
        """
        try:
            await self._start()
        except (StartupRefused, StorageError, StartFailed, LoadInterrupted) as error:
            await self._give_back()
            if isinstance(error, StorageError):
                raise storage_refusal(error) from error
            if isinstance(error, StartupRefused):
                raise StartFailed(str(error)) from error
            raise

    async def _start(self) -> None:
        config = self.config
        self._file_limit = raise_file_limit()
        self._bind()
        self._directories = open_directories(config.log_dirs, self._platform.disk)
        await self._identify()
        self._make_parts()
        early = self._loop.call_later(
            LONG_LOAD_S, lambda: self.supervisor.spawn("metrics", self._serve_metrics())
        )
        try:
            await self._load()
        finally:
            early.cancel()
        await self._elect()
        self.socket_server.open()
        self.state = RUNNING
        await self._serve_metrics()

    def _bind(self) -> None:
        """Have every address, or refuse; nobody is accepted yet."""
        config = self.config
        self._sockets = bind_listeners(
            config.listeners,
            SocketOptions(
                config[network.SOCKET_SEND_BUFFER_BYTES],
                config[network.SOCKET_RECEIVE_BUFFER_BYTES],
                config[network.SOCKET_LISTEN_BACKLOG_SIZE],
            ),
        )
        if config.metrics_address is not None:
            wanted = Endpoint("metrics", *config.metrics_address)
            key = observability.METRICS_LISTENER.name
            self._metrics_socket = bind_listeners([wanted], SocketOptions(), key)[wanted.name]

    async def _identify(self) -> None:
        """Agree on who this is with directories and store, then mark fresh directories."""
        directories = self._directories
        identity, fresh = read_identity(directories, self.config.node_id)
        self._store, self.cluster_id = await open_embedded_store(
            f"{directories[0].path}/{STORE_FILE}",
            partition_directories(directories),
            identity.cluster_id,
            self._base.entropy.cluster_id,
        )
        self.node_id = identity.node_id
        self.config.assign_node_id(identity.node_id)
        known = Identity(identity.node_id, self.cluster_id)
        write_identity(fresh, known, self._base.entropy.cluster_id, self.clock.now_ms())

    def _make_parts(self) -> None:
        """Make what serves, knowing now whose directories these are."""
        base = self._base
        metadata = MetadataCache(self.cluster_id)
        self.logs = make_logs(base, self._directories, self._file_limit)
        self._jobs = make_jobs(base, self._storage_failed, self._logs_changed)
        self._log_jobs = LogJobs(self.logs, job_intervals(self.config))
        self.log_cleaning = LogCleaning(self.config, self.logs, self._log_jobs, self._jobs)
        self._settings = LiveSettings(self.config, self.logs, metadata, self.node_id)
        self.replicas = make_replicas(
            base, self.logs, metadata, self._jobs, self._settings, self._directory_failed
        )
        self.services = make_services(base, self.logs, self.replicas, self._settings, self._store)
        self.services.moves = make_moves(
            base, self.logs, self.replicas, self._jobs, self.log_cleaning
        )
        self.socket_server = make_socket_server(
            base, self.services, self.requests, self._connection_limits
        )
        for name, sock in self._sockets.items():
            self.socket_server.add_listener(name, sock)

    async def _load(self) -> None:
        """Read topics and settings, then open every log they name."""
        self.state = RECOVERY
        controller = self.services.controller
        await controller.load()
        tasks = self.logs.load_tasks(
            self.clock.now_ms(), self._settings.of_topic, controller.topic_id_of
        )
        threads = self.config[log.NUM_RECOVERY_THREADS_PER_DATA_DIR]
        try:
            await run_load_tasks(tasks, self._loop, threads, self.load_progress)
        except LoadInterrupted:
            self.logs.abandon_load(tasks)
            raise
        report = self.logs.finish_load(tasks)
        if len(report.offline) == len(self._directories):
            raise StartFailed(
                f"no log directory can be used ({', '.join(report.offline)}); see the lines above"
            )
        _log.info("Loaded %d logs, %d of them recovered", report.loaded, report.recovered)

    def interrupt_start(self) -> None:
        """Have a start that loads logs load no more of them; no effect at any other time."""
        self.load_progress.interrupt()

    async def _elect(self) -> None:
        """Register, have the controller hand out leadership, and begin the periodic work."""
        config = self.config
        controller = self.services.controller
        self.supervisor.spawn("controller", controller.run())
        endpoints = advertised_endpoints(
            config.advertised_listeners, self._sockets, config.protocols
        )
        broker = LiveBroker(self.node_id, endpoints, config[node.BROKER_RACK])
        await controller.start(broker, self.clock.now_ms())
        self._jobs.start(self._log_jobs.periodic_jobs())
        self.log_cleaning.start(self.scheduler)
        self.services.transactions.sender.open()
        self.services.moves.resume()

    async def _serve_metrics(self) -> None:
        """Answer scrapes where the settings say so; once is enough."""
        if self._metrics_socket is None or self._metrics is not None:
            return
        from broker.metrics_service import Observed, make_endpoint

        self._metrics = make_endpoint(
            Observed(
                config=self.config,
                clock=self.clock,
                scheduler=self.scheduler,
                workers=self.workers,
                replicas=self.replicas,
                logs=self.logs,
                sessions=self.services.sessions,
                socket_server=self.socket_server,
                connection_limits=self._connection_limits,
                requests=self.requests,
                fsync_s=self._platform.fsync_s,
                broker_state=lambda: self.state,
                failures=self._failures,
                load_progress=self.load_progress,
                log_cleaning=self.log_cleaning,
                groups=self.services.groups,
                client_telemetry=self.services.client_telemetry,
            )
        )
        await self._metrics.start(self._metrics_socket)

    @property
    def metrics_address(self) -> str | None:
        """host:port where scrapes are answered, or will be; None when they are off."""
        return None if self._metrics_socket is None else bound_text(self._metrics_socket)

    def _failures(self) -> int:
        return self.scheduler.failures + self.supervisor.failures + self._jobs.failures

    def ready_event(self) -> dict[str, object]:
        """What standard output is told once the listeners answer."""
        return {
            "event": "ready",
            "node_id": self.node_id,
            "cluster_id": self.cluster_id,
            "pid": os.getpid(),
            "listeners": {name: bound_text(sock) for name, sock in self._sockets.items()},
            "metrics": self.metrics_address,
            "data_dirs": [directory.path for directory in self._directories],
            "start_ms": age_ms(),
        }

    # What the parts tell one another through here, since each is made before the other.

    def _logs_changed(self, logs: Sequence[PartitionLog]) -> None:
        self.replicas.logs_changed(logs)

    def _storage_failed(self, _: str, error: StorageError) -> None:
        self.replicas.storage_failed(error)

    def _directory_failed(self, path: str, partitions: Sequence[TopicPartition]) -> None:
        online = [one for one in self.logs.directories.values() if not one.offline]
        if not online and not self.failed.done():
            _log.critical("All log directories have failed, %s the last", path)
            self.failed.set_result(None)
        elif online and partitions and self.state == RUNNING:
            controller = self.services.controller
            self.supervisor.spawn(
                "replicas-went-offline", controller.replicas_went_offline(partitions)
            )

    # Stop.

    async def stop(self) -> None:
        """Finish what is in flight, flush, and mark the shutdown clean."""
        self.state = STOPPING
        controller = self.services.controller
        purgatories = self.replicas.purgatories
        releasing = self.scheduler.every(RELEASE, RELEASE_MS, 0, purgatories.release_readers)
        await self.socket_server.stop(IN_FLIGHT_S)
        releasing.cancel()
        controller.close()
        self.services.moves.stop()
        self.log_cleaning.stop()  # else the flush would wait for the end of what is being cleaned
        await flush_all(self.logs.all_logs(), self._jobs, self.workers)
        self._jobs.stop()
        unfinished = await self.supervisor.stop(TASKS_S)
        if unfinished:
            _log.warning("Left unfinished: %s", ", ".join(unfinished))
        await self.workers.drain()
        if self._metrics is not None:
            await self._metrics.stop()
        self.scheduler.close()
        broker_epoch = controller.broker_epoch
        self.logs.close(self.clock.now_ms(), clean=True, broker_epoch=broker_epoch)
        await self._store.close()
        self.workers.close(wait=True)

    async def _give_back(self) -> None:
        """After a start that failed: ports, locks and the store, untouched."""
        for sock in self._sockets.values():
            sock.close()
        if self._metrics is not None:
            await self._metrics.stop()
        if self._metrics_socket is not None:
            self._metrics_socket.close()
        self.scheduler.close()
        await self.supervisor.stop(TASKS_S)
        if hasattr(self, "_store"):
            await self._store.close()
        release(self._directories)
        self.workers.close(wait=False)


async def serve(
    config: BrokerConfig,
    platform: Platform,
    announce: Callable[[dict[str, object]], None],
    watch_load: Callable[[LoadProgress], None] | None = None,
) -> int:
    """Run a broker until it is told to stop; the exit code. Raises StartFailed.

    `announce` is given the ready event once clients are served. A signal that comes before the
    logs are loaded ends the start in the midst of that; after that, as soon as it is done.
    """
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[str] = loop.create_future()
    server = Server(config, platform)
    server.load_progress.watcher = watch_load

    def stop(name: str) -> None:
        signalled.set_result(name)
        server.interrupt_start()

    stop_on_signals(loop, stop)
    try:
        await server.start()
    except LoadInterrupted:
        _log.info("Stopped on %s, with logs left to load", signalled.result())
        return 0
    announce(server.ready_event())
    settle_memory()
    await asyncio.wait((signalled, server.failed), return_when=asyncio.FIRST_COMPLETED)
    if not signalled.done():
        return EXIT_FAILED
    _log.info("Stopping on %s", signalled.result())
    await server.stop()
    _log.info("Stopped")
    return 0
