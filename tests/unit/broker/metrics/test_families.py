"""From plain numbers to families: complete, sliced, limited."""

from broker.metrics import declarations as names
from broker.metrics.declarations import Declared
from broker.metrics.families import (
    PARTITION_FAMILIES,
    SLICE,
    Piece,
    partition_pieces,
    pieces,
    request_pieces,
    sliced,
)
from broker.metrics.loop_health import LoopHealth
from broker.metrics.sources import MetricSources, SourceFunctions
from broker.request_metrics import RequestMetricsRegistry
from runtime.metrics import Summary
from tests.support.manual_clock import ManualClock
from tests.support.replicas import ReplicaBroker


def sources(broker: ReplicaBroker, limit: int = 1000) -> MetricSources:
    return MetricSources(
        broker.replicas,
        RequestMetricsRegistry(),
        LoopHealth(ManualClock()),
        Summary(),
        SourceFunctions(
            broker_state=lambda: 3,
            offline_directories=lambda: 0,
            remaining_recovery=lambda: {"/a": (2, 9)},
            cleaner_gauges=lambda: {
                names.CLEANER_DIRT: {"": 40},
                names.CLEANER_UNCLEANABLE: {"/a": 1, "/b": 0},
            },
            fetch_sessions=lambda: (0, 0),
            connections=lambda: {"PLAINTEXT": 2},
            broker_addresses=lambda: {"1": "h:9092"},
            own_counts=lambda: {names.BAD_FRAMES: 5},
            partition_limit=lambda: limit,
        ),
    )


def values(found: list[Piece], family: Declared) -> list[float]:
    return [s.value for piece in found if piece.family is family for s in piece.samples]


def test_a_broker_shows_its_partitions_connections_and_own_counts() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=2)
    found = list(pieces(sources(broker)))
    assert values(found, names.PARTITION_COUNT) == [2]
    assert values(found, names.CONNECTIONS) == [2]
    assert values(found, names.BAD_FRAMES) == [5]
    assert values(found, names.REMAINING_LOGS) == [2]
    assert values(found, names.CLEANER_DIRT) == [40]
    assert values(found, names.CLEANER_UNCLEANABLE) == [1, 0]
    assert values(found, names.REMAINING_SEGMENTS) == [9]
    assert values(found, names.LOG_END) == [0, 0]
    assert values(found, names.C_IN_SYNC) == [1, 1]


def test_every_partition_family_has_a_value_for_every_partition() -> None:
    broker = ReplicaBroker()
    broker.create("t", partitions=3)
    found = list(partition_pieces(sources(broker)))
    assert all(len(values(found, family)) == 3 for family in PARTITION_FAMILIES)


def test_beyond_the_limit_partitions_are_hidden_and_counted() -> None:
    broker = ReplicaBroker()
    broker.create("quiet", partitions=3)
    broker.create("busy", partitions=1)
    broker.replicas.meters.topic("busy").bytes_in = 10
    found = list(partition_pieces(sources(broker, limit=2)))
    shown = [s.labels["topic"] for p in found if p.family is names.LOG_SIZE for s in p.samples]
    assert len(shown) == 2
    assert "busy" in shown
    assert values(found, names.PARTITIONS_HIDDEN) == [2]


def test_no_piece_is_longer_than_a_slice() -> None:
    assert [len(some) for some in sliced(range(2 * SLICE + 1))] == [SLICE, SLICE, 1]


def test_a_fetch_counts_as_a_consumers_fetch_too() -> None:
    registry = RequestMetricsRegistry()
    registry.of("Fetch").observe([(0.0, 0.0, 0.001, 0.001, 10)], 0.002)
    (total,) = [p for p in request_pieces(registry) if p.family is names.REQUEST_PHASES["total"]]
    counts = {s.labels["request"]: s.value for s in total.samples if s.suffix == "_count"}
    assert counts == {"Fetch": 1, "FetchConsumer": 1}
