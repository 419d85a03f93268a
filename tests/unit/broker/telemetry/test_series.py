"""Series of clients: sums added up, bounds kept, labels Prometheus takes, and the silent gone."""

import math

import pytest

from broker.telemetry.otlp import Point
from broker.telemetry.series import ClientSeries, PushingClient, labels_of


def series(most_of_one: int = 100, most: int = 100) -> ClientSeries:
    return ClientSeries(lambda: most_of_one, lambda: most)


def taken(into: ClientSeries, instance_id: bytes, *points: Point) -> PushingClient:
    client = into.client(instance_id)
    client.labels = {"client_id": instance_id.decode()}
    client.info = {"client_id": instance_id.decode(), "group_id": "g"}
    for point in points:
        into.take(client, point)
    return client


def gauge(name: str, value: float, **labels: str) -> Point:
    return Point(name, tuple(labels.items()), value, False, False)


def count(name: str, value: float, *, is_delta: bool = True) -> Point:
    return Point(name, (), value, True, is_delta)


def shown(into: ClientSeries, *, counters: bool = False) -> list[tuple[str, float]]:
    return [(one.labels["metric"], one.value) for one in into.shown(counters=counters)]


def test_a_gauge_is_what_was_measured_last() -> None:
    found = series()
    taken(found, b"a", gauge("g", 1), gauge("g", 2), gauge("g", 3, topic="t"))
    assert [(one.labels, one.value) for one in found.shown(counters=False)] == [
        ({"client_id": "a", "metric": "g"}, 2),
        ({"client_id": "a", "metric": "g", "topic": "t"}, 3),
    ]
    assert found.count == 2


def test_what_came_since_the_last_push_is_added_and_what_came_in_all_is_not() -> None:
    found = series()
    for value in (3, 4):
        taken(found, b"a", count("new", value), count("all", value, is_delta=False))
    assert shown(found, counters=True) == [("new", 7), ("all", 4)]
    assert shown(found) == []


def test_one_name_may_be_a_counter_of_one_and_a_gauge_of_another() -> None:
    found = series()
    taken(found, b"a", count("x", 1))
    taken(found, b"b", gauge("x", 2))
    assert (shown(found, counters=True), shown(found)) == ([("x", 1)], [("x", 2)])


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_counter_never_takes_what_no_counter_can_be(value: float) -> None:
    found = series()
    taken(found, b"a", count("c", 1), count("c", value))
    assert shown(found, counters=True) == [("c", 1)]
    assert found.dropped == 1


def test_series_beyond_the_bounds_are_dropped_and_others_go_on() -> None:
    found = series(most_of_one=2, most=3)
    taken(found, b"a", gauge("x", 1), gauge("y", 1), gauge("z", 1), gauge("x", 5))
    taken(found, b"b", gauge("x", 2), gauge("y", 2))
    taken(found, b"c", gauge("x", 3))
    assert shown(found) == [("x", 5), ("y", 1), ("x", 2)]
    assert (found.count, found.dropped) == (3, 3)
    assert len(found.infos()) == 2


def test_names_and_attributes_without_end_have_no_series() -> None:
    found = series()
    many = {f"a{number}": "" for number in range(17)}
    taken(found, b"a", gauge("n" * 251, 1), gauge("g", 1, **many))
    assert (found.count, found.dropped) == (0, 2)


def test_two_that_look_alike_are_one() -> None:
    found = series()
    taken(found, b"a", gauge("g", 1, **{"node.id": "1"}), gauge("g", 2, **{"node-id": "1"}))
    assert [(one.labels, one.value) for one in found.shown(counters=False)] == [
        ({"client_id": "a", "metric": "g", "node_id": "1"}, 2)
    ]


def test_a_client_cannot_take_anothers_name() -> None:
    found = series()
    taken(found, b"a", gauge("g", 1, client_id="b", metric="m", client_instance_id="i"))
    assert [one.labels for one in found.shown(counters=False)] == [
        {"client_id": "a", "metric": "g"}
    ]


@pytest.mark.parametrize(
    ("name", "label"),
    [("a.b-c", "a_b_c"), ("0", "_0"), ("__name__", "name__"), ("é", ""), ("_a", "a"), ("", "")],
)
def test_labels_have_names_that_prometheus_takes(name: str, label: str) -> None:
    assert labels_of({name: "v"}, frozenset()) == ({label: "v"} if label else {})


def test_labels_end_where_there_is_no_room() -> None:
    assert len(labels_of({f"a{number}": "" for number in range(50)}, frozenset())) == 16
    long = labels_of({f"a{number}": "v" * 300 for number in range(9)}, frozenset())
    assert [len(value) for value in long.values()] == [250, 250, 250]


def test_the_silent_are_forgotten_with_all_they_had() -> None:
    found = series()
    taken(found, b"a", gauge("g", 1)).expires_ms = 10
    taken(found, b"b", gauge("g", 1), gauge("h", 1)).expires_ms = 20
    found.expire(10)
    assert (found.count, [info["client_id"] for info in found.infos()]) == (2, ["b"])
    found.expire(20)
    assert (found.count, found.infos()) == (0, [])
