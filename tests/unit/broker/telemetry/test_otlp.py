"""OpenTelemetry's protobuf: every kind of point, fields in any order, and bytes that are none."""

import math
import struct

import pytest

from broker.telemetry.otlp import MalformedMetrics, MetricsReader, Point
from tests.support.telemetry import attribute, field, fixed, gauge, metrics, total, varint


def read(data: bytes, max_fields: int = 10_000) -> list[Point]:
    return list(MetricsReader(data, max_fields).points())


def metric(name: str, kind: int, *parts: bytes) -> bytes:
    return field(1, name) + field(kind, b"".join(parts))


def test_nothing_is_no_points() -> None:
    assert read(b"") == []
    assert read(metrics()) == []
    assert read(metrics(field(1, "without data"))) == []


def test_a_gauge_is_its_value() -> None:
    assert read(metrics(gauge("g", 1.5, {"topic": "t", "partition": "0"}))) == [
        Point("g", (("topic", "t"), ("partition", "0")), 1.5, False, False)
    ]


@pytest.mark.parametrize("is_delta", [True, False])
@pytest.mark.parametrize("grows", [True, False])
def test_a_sum_is_a_counter_when_it_only_grows(is_delta: bool, grows: bool) -> None:
    [point] = read(metrics(total("s", -7, is_delta, grows)))
    assert point == Point("s", (), -7.0, grows, is_delta)


def test_the_fields_of_a_metric_come_in_any_order() -> None:
    point = field(1, field(7, attribute("k", "v")) + field(4, 2.0))
    data = field(7, field(3, 1) + field(2, 1) + point)
    assert read(metrics(data + field(2, "described") + field(1, "late"))) == [
        Point("late", (("k", "v"),), 2.0, True, True)
    ]


@pytest.mark.parametrize(("kind", "where"), [(9, 9), (10, 1), (11, 7)])
def test_of_distributions_count_and_sum_are_read(kind: int, where: int) -> None:
    point = field(1, fixed(4, 3) + field(5, 4.5) + field(where, attribute("k", "v")))
    is_delta = kind != 11
    assert read(metrics(metric("h", kind, point, field(2, 1)))) == [
        Point("h.count", (("k", "v"),), 3.0, True, is_delta),
        Point("h.sum", (("k", "v"),), 4.5, False, is_delta),
    ]


def test_a_point_without_a_value_is_none() -> None:
    assert read(metrics(metric("g", 5, field(1, field(8, 1))))) == []
    assert read(metrics(metric("h", 9, field(1, b"")))) == []


def test_values_of_attributes_are_text() -> None:
    values = {
        "bool": field(2, 1),
        "int": field(3, -5),
        "double": field(4, 0.5),
        "array": field(5, b""),
        "bytes": field(7, b"x"),
        "none": b"",
    }
    point = field(4, 1.0) + b"".join(
        field(7, attribute(key, value)) for key, value in values.items()
    )
    [found] = read(metrics(metric("g", 5, field(1, point))))
    assert found.attributes == (("bool", "true"), ("int", "-5"), ("double", "0.5"))


def test_what_a_client_says_of_itself_is_kept() -> None:
    reader = MetricsReader(metrics(gauge("g", 1), resource={"group_id": "g", "x": "y"}), 1000)
    assert len(list(reader.points())) == 1
    assert reader.resource == {"group_id": "g", "x": "y"}
    assert not reader.truncated


def test_unknown_fields_are_passed_over() -> None:
    unknown = field(99, 7) + field(98, 1.5) + varint(97 << 3 | 5) + b"1234" + field(1000, b"old")
    data = field(1, unknown + field(2, unknown + field(2, unknown + gauge("g", 1))))
    assert [point.name for point in read(unknown + data)] == ["g"]


def test_extreme_numbers_are_numbers() -> None:
    [nan] = read(metrics(gauge("g", math.nan)))
    assert math.isnan(nan.value)
    assert read(metrics(gauge("g", math.inf)))[0].value == math.inf
    point = field(1, fixed(4, (1 << 64) - 1, "<Q"))
    assert read(metrics(metric("h", 9, point)))[0].value == 2.0**64


def test_no_more_fields_are_looked_at_than_allowed() -> None:
    data = metrics(*(gauge("g", number) for number in range(50)))
    reader = MetricsReader(data, 100)
    points = list(reader.points())
    assert [point.value for point in points] == list(range(len(points)))
    assert 0 < len(points) < 50
    assert reader.truncated
    assert not read(data, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0b",
        b"\x0c",
        b"\x0f",
        b"\x02\x00",
        b"\xff" * 11,
        b"\x0a" + b"\x80" * 10 + b"\x01",
        b"\x09" + struct.pack("<i", 1),
        b"\x0d\x01",
        metrics(field(1, b"\xff\xfe") + field(5, b"")),
        metrics(metric("g", 5, field(1, field(4, 1.0) + field(7, field(1, b"\xff"))))),
        metrics(metric("g", 5, field(1, b"\x21\x00"))),
        metrics(gauge("g", 1))[:-1],
    ],
)
def test_bytes_that_are_no_protobuf_are_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMetrics):
        read(data)
