"""Partition logs on disk in Kafka's own format; synchronous, no sockets, no clock."""
