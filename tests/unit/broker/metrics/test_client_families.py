"""What clients push, as families of our own naming."""

from broker.metrics.client_families import client_pieces
from broker.metrics.families import Sample
from broker.telemetry.otlp import MetricsReader
from tests.support.telemetry import ID, Telemetry, context, gauge, metrics, total


def shown(telemetry: Telemetry) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for piece in client_pieces(telemetry.clients):
        found.setdefault(piece.family.name, []).extend(piece.samples)
    return found


def pushed(telemetry: Telemetry, data: bytes) -> None:
    client = telemetry.clients.subscribe(ID, context(), 0)
    pushing = telemetry.series.client(ID)
    pushing.labels, pushing.info = client.labels, client.info({})
    for point in MetricsReader(data, 100_000).points():
        telemetry.series.take(pushing, point)


def test_a_name_of_a_clients_metric_is_a_label() -> None:
    telemetry = Telemetry()
    pushed(telemetry, metrics(gauge("a.b", 1.5, {"topic": "t"}), total("c", 3, True)))
    families = shown(telemetry)
    own = {"client_instance_id": "AAECAwQFBgcICQoLDA0ODw", "client_id": "app-1"}
    assert families["tidelog_client_gauge"] == [
        Sample("", {**own, "metric": "a.b", "topic": "t"}, 1.5)
    ]
    assert families["tidelog_client_counter"] == [Sample("", {**own, "metric": "c"}, 3)]
    [info] = families["tidelog_client_info"]
    assert info.value == 1
    assert own.items() < info.labels.items()
    assert info.labels["client_software_name"] == "librdkafka"


def test_the_books_are_shown_before_anybody_pushes() -> None:
    families = shown(Telemetry())
    assert {name: samples[0].value for name, samples in families.items()} == {
        "kafka_server_client_metrics_instance_count": 0,
        "kafka_server_client_metrics_unknown_subscription_request_count": 0,
        "kafka_server_client_metrics_throttle_count": 0,
        "kafka_server_client_metrics_plugin_export_count": 0,
        "kafka_server_client_metrics_plugin_error_count": 0,
        "tidelog_client_points_dropped": 0,
    }


def test_many_series_come_in_pieces() -> None:
    telemetry = Telemetry(most_of_one=1000)
    pushed(telemetry, metrics(*(gauge(f"g{number}", 1) for number in range(450))))
    sizes = [
        len(piece.samples)
        for piece in client_pieces(telemetry.clients)
        if piece.family.name == "tidelog_client_gauge"
    ]
    assert sizes == [200, 200, 50]
