"""Kafka's wire protocol and record format as pure values: bytes in, bytes out, no I/O and no clock."""
