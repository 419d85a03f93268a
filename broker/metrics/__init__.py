"""Prometheus: what the broker tells of itself, under the names that Kafka dashboards use."""
