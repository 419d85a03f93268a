"""Whatever bytes a client pushes: points, or MalformedMetrics; what was written is read."""

from hypothesis import given
from hypothesis import strategies as st

from broker.telemetry.otlp import MalformedMetrics, MetricsReader, Point
from broker.telemetry.series import labels_of
from tests.support.telemetry import gauge, metrics, total

MAX_FIELDS = 300
NAMES = st.text(max_size=20)
LABELS = st.dictionaries(NAMES, NAMES, max_size=4)
WHOLE = metrics(
    gauge("a", 1.5, {"topic": "t"}),
    total("b", 3, True, labels={"k": "v"}),
    resource={"group_id": "g"},
)


def read(data: bytes) -> list[Point]:
    return list(MetricsReader(data, MAX_FIELDS).points())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        points = read(data)
    except MalformedMetrics:
        return
    assert len(points) <= MAX_FIELDS


@given(st.data())
def test_a_damaged_push_is_read_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        read(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
    except MalformedMetrics:
        return


@given(
    st.lists(st.tuples(NAMES, st.floats(allow_nan=False), LABELS), max_size=5),
    st.lists(st.tuples(NAMES, st.integers(-(1 << 63), (1 << 63) - 1), LABELS), max_size=5),
    st.booleans(),
)
def test_what_was_written_is_read(
    gauges: list[tuple[str, float, dict[str, str]]],
    sums: list[tuple[str, int, dict[str, str]]],
    is_delta: bool,
) -> None:
    data = metrics(
        *(gauge(name, value, labels) for name, value, labels in gauges),
        *(total(name, value, is_delta, labels=labels) for name, value, labels in sums),
    )
    assert read(data) == [
        *(Point(name, tuple(labels.items()), v, False, False) for name, v, labels in gauges),
        *(Point(name, tuple(labels.items()), float(v), True, is_delta) for name, v, labels in sums),
    ]


@given(st.dictionaries(st.text(max_size=300), st.text(max_size=300), max_size=30))
def test_labels_are_names_prometheus_takes_within_bounds(attributes: dict[str, str]) -> None:
    labels = labels_of(attributes, frozenset({"metric"}))
    assert "metric" not in labels
    assert len(labels) <= 16
    assert sum(len(name) + len(value) for name, value in labels.items()) <= 1000
    for name in labels:
        assert name.isascii()
        assert name.isidentifier()
        assert not name.startswith("__")
