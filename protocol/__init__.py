"""Kafka's wire protocol and record format as values: bytes in, bytes out, no I/O, no clock."""
