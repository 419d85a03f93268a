"""The numbers of a broker that runs are told under the names dashboards read."""

import asyncio
from pathlib import Path

from broker.assembly import Platform
from broker.server import Server
from config.loading import load
from runtime.clock import SystemClock
from runtime.disk import OsDisk
from runtime.metrics import Summary


async def scrape(address: str, path: bytes) -> str:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET %s HTTP/1.1\r\n\r\n" % path)
    page = await reader.read()
    writer.close()
    return page.decode()


async def test_a_page_of_a_fresh_broker(tmp_path: Path) -> None:
    config = load(
        None,
        {},
        [
            "listeners=PLAINTEXT://127.0.0.1:0,INSIDE://127.0.0.1:0",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            f"log.dirs={tmp_path}",
            "tidelog.metrics.listener=127.0.0.1:0",
        ],
    )
    server = Server(config, Platform(SystemClock(), OsDisk(), Summary()))
    await server.start()
    try:
        address = str(server.ready_event()["metrics"])
        page = await scrape(address, b"/metrics")
        for line in (
            "kafka_server_replicamanager_partitioncount 0.0",
            "kafka_log_logmanager_offlinelogdirectorycount 0.0",
            "kafka_server_fetchsessioncache_numincrementalfetchsessions 0.0",
            'tidelog_connections{listener="PLAINTEXT"} 0.0',
            'tidelog_connections{listener="INSIDE"} 0.0',
            'connection_count{listener="INSIDE",networkProcessor="0"} 0.0',
            "tidelog_recovery_logs 0.0",
            "kafka_broker_info",
            "kafka_server_client_metrics_instance_count 0.0",
        ):
            assert line in page, line
        assert "client-telemetry-expiry" in {job.name for job in server.scheduler.jobs()}
        server.state = 7
        assert "503" in await scrape(address, b"/readyz")
    finally:
        await server.stop()
