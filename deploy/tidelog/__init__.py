"""Tidelog: a Kafka-compatible broker in Python."""
