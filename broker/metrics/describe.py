"""docs/metrics.md, rendered from the declarations."""

from broker.metrics.declarations import DECLARED, Declared

HEAD = """# Metrics

<!-- Rendered from broker/metrics/declarations.py by `make docs`. -->

`GET /metrics` on `tidelog.metrics.listener` answers in Prometheus' text format, or in OpenMetrics
when asked for it; the page is made at most once a second. `/healthz` answers when the event loop
turns, `/readyz` when the listeners serve.

Dashboards made for Kafka find the names they know: dialect **a** is jmx_exporter's example file and
Strimzi (`…_total`), **b** Confluent's and Grafana Cloud's (`…persec`), **c** kafka_exporter's.
`metrics.dialects` leaves some out. Our own are under `tidelog_`. Per-partition series stop at
`metrics.partition.limit` partitions, busiest first; `process_*` comes from prometheus_client.
deploy/ has a scrape file with the labels that dashboards filter by, and alerts.

| metric | kind | labels | dialect | meaning |
|---|---|---|---|---|
"""


def row(declared: Declared) -> str:
    """One line of the table."""
    labels = ", ".join(declared.labels) or "–"
    dialects = ", ".join(sorted(declared.dialects)) or "always"
    kind = "counter" if declared.kind == "unknown" else declared.kind
    return f"| `{declared.shown_name}` | {kind} | {labels} | {dialects} | {declared.help} |\n"


def markdown() -> str:
    """The page."""
    return HEAD + "".join(row(declared) for declared in DECLARED.values())
