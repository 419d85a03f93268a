"""The metadata store port and its backends."""
