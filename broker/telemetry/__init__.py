"""Metrics that clients push, asked for by subscriptions and shown to Prometheus (KIP-714)."""
