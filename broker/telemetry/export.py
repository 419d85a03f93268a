"""A client's push becomes series: unfolded in a worker, read in slices on the loop.

A push may unfold to as much as it may weigh. Whatever is wrong with it refuses it as a whole, but
what was read before that is shown. Source: KIP-714; `ClientTelemetryExporterPlugin` of Kafka 4.3.
"""

import asyncio
from typing import Final

from broker.telemetry.clients import Client, ClientTelemetry
from broker.turns import NextTurn
from protocol.errors import ErrorCode, KafkaError
from protocol.records.compression import Codec, decompress
from runtime.blocking import Workers

FIELDS_OF_A_SERIES: Final = 25
"""As many as a point with four attributes has. Those of 500 series are read in 10 ms."""
POINTS_PER_TURN: Final = 50
"""A slice of 1 ms."""
AT_ONCE: Final = 2
"""Pushes that are unfolded at a time: each may take as much memory as it may weigh."""
MOST_WAITING: Final = 64
"""Pushes read or waiting to be; more are told to come again after their interval."""


class Exporter:
    """Shows what clients push."""

    def __init__(self, telemetry: ClientTelemetry, workers: Workers) -> None:
        self._telemetry = telemetry
        self._workers = workers
        self._turnstile = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def export(self, client: Client, codec: int, metrics: bytes, now_ms: int) -> None:
        """Take the metrics in.

        Raises KafkaError: INVALID_RECORD for what is none, THROTTLING_QUOTA_EXCEEDED while too many
        wait to be read.
        """
        from broker.telemetry.otlp import MalformedMetrics  # seldom needed

        meters = self._telemetry.meters
        if self._waiting >= MOST_WAITING:
            meters.throttled += 1
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self._waiting += 1
        try:
            async with self._turnstile:
                await self._take(client, await self._unfolded(codec, metrics), now_ms)
        except (KafkaError, MalformedMetrics) as error:
            meters.failed += 1
            client.last_error = ErrorCode.INVALID_RECORD
            raise KafkaError(ErrorCode.INVALID_RECORD) from error
        finally:
            self._waiting -= 1
        meters.exported += 1

    async def _unfolded(self, codec: int, metrics: bytes) -> bytes:
        if codec == Codec.NONE:
            return metrics
        limit = self._telemetry.max_bytes()
        return bytes(await self._workers.run(decompress, codec, metrics, limit))

    async def _take(self, client: Client, metrics: bytes, now_ms: int) -> None:
        from broker.telemetry.otlp import MetricsReader

        series = self._telemetry.series
        reader = MetricsReader(metrics, series.most_of_one * FIELDS_OF_A_SERIES)
        pushing = series.client(client.instance_id)
        pushing.labels = client.labels
        pushing.expires_ms = now_ms + client.life_ms
        try:
            for count, point in enumerate(reader.points(), 1):
                series.take(pushing, point)
                if count % POINTS_PER_TURN == 0:
                    await NextTurn()
        finally:
            pushing.info = client.info(reader.resource)
            series.dropped += reader.truncated
