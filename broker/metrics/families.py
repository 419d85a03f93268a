"""From the broker's plain numbers to metric families, in pieces small enough for the loop.

Numbers are copied a slice of partitions at a time; each piece holds one family's samples of one
slice, so that no step of a scrape is longer than a few milliseconds however many partitions there
are. A later piece of a family simply continues it.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from broker.metrics import declarations as names
from broker.metrics.declarations import QUANTILE_LABELS, QUANTILES, Declared, Pair
from broker.metrics.sources import MetricSources
from broker.replication.in_sync import effective_min_in_sync
from broker.replication.partition import Partition
from broker.request_metrics import RequestMetrics
from protocol.errors import ErrorCode
from runtime.metrics import Summary

SLICE = 200
"""Partitions copied or rendered without giving other callbacks a turn: under 2 ms."""

T = TypeVar("T")
Labels = dict[str, str]


class Sample(NamedTuple):
    """One line: suffix of the family's name, labels, value."""

    suffix: str
    labels: Labels
    value: float


class Piece(NamedTuple):
    """Some samples of one family."""

    family: Declared
    samples: list[Sample]


def pieces(sources: MetricSources) -> Iterator[Piece]:
    """Everything, piece by piece; numbers of a piece are read when it is asked for."""
    yield from broker_pieces(sources)
    yield from topic_pieces(sources)
    yield from request_pieces(sources.requests)
    yield from partition_pieces(sources)


def _one(family: Declared, value: float, **labels: str) -> Piece:
    return Piece(family, [Sample("", labels, value)])


def broker_pieces(sources: MetricSources) -> Iterator[Piece]:
    """What there is one of, or one a listener, a purgatory, a broker."""
    counts = sources.partition_counts()
    yield _one(names.BROKER_STATE, sources.broker_state())
    yield _one(names.PARTITION_COUNT, counts.partitions)
    yield _one(names.LEADER_COUNT, counts.leaders)
    yield _one(names.UNDER_REPLICATED, counts.under_replicated)
    yield _one(names.UNDER_MIN_ISR, counts.under_min_in_sync)
    yield _one(names.AT_MIN_ISR, counts.at_min_in_sync)
    yield _one(names.OFFLINE_REPLICAS, counts.offline)
    yield from _cluster_pieces(sources)
    yield _one(names.OFFLINE_DIRECTORIES, sources.offline_directories())
    yield from _recovery_pieces(sources)
    yield from _cleaner_pieces(sources)
    yield _one(names.FETCH_SESSIONS, sources.fetch_sessions()[0])
    yield _one(names.FETCH_SESSION_PARTITIONS, sources.fetch_sessions()[1])
    sizes = sources.replicas.purgatories.sizes().items()
    yield Piece(
        names.PURGATORY_SIZE,
        [Sample("", {"delayedOperation": name}, size) for name, size in sizes],
    )
    for family in names.NETWORK_IDLE:
        yield _one(family, sources.loop_health.idle_fraction())
    connections = sources.connections()
    for family in names.CONNECTION_COUNT:
        processor = family.labels[1]
        yield Piece(
            family,
            [
                Sample("", {"listener": name, processor: "0"}, count)
                for name, count in connections.items()
            ],
        )
    yield Piece(
        names.CONNECTIONS,
        [Sample("", {"listener": name}, count) for name, count in connections.items()],
    )
    for family, value in sources.own_counts().items():
        yield _one(family, value)
    yield summary_piece(names.LOOP_LAG, sources.loop_health.lag_s)
    yield summary_piece(names.FSYNC, sources.fsync_s)


def _recovery_pieces(sources: MetricSources) -> Iterator[Piece]:
    remaining = sources.remaining_recovery()
    for which, family in enumerate((names.REMAINING_LOGS, names.REMAINING_SEGMENTS)):
        yield Piece(
            family, [Sample("", {"dir": path}, left[which]) for path, left in remaining.items()]
        )


def _cleaner_pieces(sources: MetricSources) -> Iterator[Piece]:
    for family, values in sources.cleaner_gauges().items():
        yield Piece(
            family,
            [
                Sample("", {"logDirectory": path} if path else {}, value)
                for path, value in values.items()
            ],
        )


def _cluster_pieces(sources: MetricSources) -> Iterator[Piece]:
    metadata = sources.replicas.metadata
    topics = list(metadata.topics().values())
    states = [partition for topic in topics for partition in topic.partitions]
    yield _one(names.ACTIVE_CONTROLLER, float(metadata.controller_id == sources.replicas.local_id))
    yield _one(names.OFFLINE_PARTITIONS, sum(1 for state in states if state.leader < 0))
    yield _one(
        names.PREFERRED_IMBALANCE,
        sum(1 for state in states if state.leader >= 0 and state.leader != state.replicas[0]),
    )
    yield _one(names.GLOBAL_TOPICS, len(topics))
    yield _one(names.GLOBAL_PARTITIONS, len(states))
    yield _one(names.ACTIVE_BROKERS, len(metadata.brokers))
    yield _one(names.FENCED_BROKERS, 0)
    yield _one(names.C_BROKERS, len(metadata.brokers))
    yield Piece(
        names.C_BROKER_INFO,
        [Sample("", {"id": i, "address": a}, 1) for i, a in sources.broker_addresses().items()],
    )
    for some in sliced(topics):
        yield Piece(
            names.C_TOPIC_PARTITIONS,
            [Sample("", {"topic": topic.name}, len(topic.partitions)) for topic in some],
        )


def sliced(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists of at most SLICE items."""
    iterator = iter(items)
    while some := list(islice(iterator, SLICE)):
        yield some


def topic_pieces(sources: MetricSources) -> Iterator[Piece]:
    """Traffic by topic, and in sum without a topic label."""
    meters = sources.replicas.meters
    totals = meters.totals()
    for counter, pair in names.TOPIC_COUNTERS.items():
        yield from _both(pair, [Sample("", {}, totals[counter])])
        for some in sliced(list(meters.topics.items())):
            yield from _both(
                pair,
                [Sample("", {"topic": name}, getattr(topic, counter)) for name, topic in some],
            )


def _both(pair: Pair, samples: list[Sample]) -> Iterator[Piece]:
    yield Piece(pair.a, samples)
    yield Piece(pair.b, samples)


def request_pieces(registry: Iterable[RequestMetrics]) -> Iterator[Piece]:
    """Counts, errors and timings by API; consumers' fetches are all fetches of a lone broker."""
    for metrics in registry:
        api = metrics.name
        yield from _both(
            names.REQUESTS,
            [
                Sample("", {"request": api, "version": str(version)}, count)
                for version, count in metrics.versions.items()
            ],
        )
        yield from _both(
            names.REQUEST_ERRORS,
            [
                Sample("", {"request": api, "error": ErrorCode(code).name}, count)
                for code, count in metrics.errors.items()
            ],
        )
        for phase, family in names.REQUEST_PHASES.items():
            values = [1000 * value for value in metrics.phase_quantiles_s(phase, QUANTILES)]
            total = 1000 * metrics.phase_total_s(phase)
            shown = (api, "FetchConsumer") if api == "Fetch" else (api,)
            samples = [
                sample
                for name in shown
                for sample in _summary({"request": name}, values, metrics.count, total)
            ]
            yield Piece(family, samples)


def _summary(labels: Labels, values: Iterable[float], count: int, total: float) -> Iterator[Sample]:
    for quantile, value in zip(QUANTILE_LABELS, values, strict=True):
        yield Sample("", {**labels, "quantile": quantile}, value)
    yield Sample("_count", labels, count)
    yield Sample("_sum", labels, total)


def summary_piece(family: Declared, summary: Summary) -> Piece:
    """A summary without other labels."""
    values = summary.quantiles(QUANTILES)
    return Piece(family, list(_summary({}, values, summary.count, summary.total)))


def partition_pieces(sources: MetricSources) -> Iterator[Piece]:
    """Partition by partition, up to the limit; those that carry traffic first."""
    everyone = list(sources.replicas.partitions.values())
    limit = sources.partition_limit()
    if len(everyone) > limit:
        everyone.sort(key=lambda partition: partition.meters.bytes_in, reverse=True)
    yield _one(names.PARTITIONS_HIDDEN, max(0, len(everyone) - limit))
    for some in sliced(everyone[:limit]):
        rows = [_partition_values(partition) for partition in some]
        for column, family in enumerate(PARTITION_FAMILIES):
            yield Piece(family, [Sample("", labels, values[column]) for labels, values in rows])


PARTITION_FAMILIES: Final = (
    names.LOG_SIZE,
    names.LOG_START,
    names.LOG_END,
    names.LOG_SEGMENTS,
    names.C_CURRENT,
    names.C_OLDEST,
    names.C_LEADER,
    names.C_PREFERRED,
    names.C_REPLICAS,
    names.PARTITION_REPLICAS,
    names.C_IN_SYNC,
    names.C_UNDER_REPLICATED,
    names.PARTITION_UNDER_REPLICATED,
    names.PARTITION_UNDER_MIN_ISR,
    names.PARTITION_AT_MIN_ISR,
)
"""The columns that `_partition_values` returns, in its order."""


def _partition_values(partition: Partition) -> tuple[Labels, tuple[float, ...]]:
    """Labels and every number of one partition; the log's are -1 where its directory failed."""
    topic, index = partition.topic_partition
    log = partition.log
    replicas, in_sync = len(partition.replicas), len(partition.in_sync)
    leads = partition.is_leader
    under_replicated = float(leads and in_sync < replicas)
    offsets: tuple[float, ...] = (-1, -1, -1, -1, -1, -1)
    min_in_sync = 1
    if log is not None:
        min_in_sync = effective_min_in_sync(log.config.min_insync_replicas, replicas)
        start = log.log_start_offset
        offsets = (
            log.size,
            start,
            log.log_end_offset,
            log.segment_count,
            log.high_watermark,
            start,
        )
    return {"topic": topic, "partition": str(index)}, (
        *offsets,
        partition.leader,
        float(bool(replicas) and partition.leader == partition.replicas[0]),
        replicas,
        replicas,
        in_sync,
        under_replicated,
        under_replicated,
        float(leads and in_sync < min_in_sync),
        float(leads and in_sync == min_in_sync),
    )
