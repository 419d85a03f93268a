"""Coordinators: state machines kept in the partitions of internal topics."""
