"""Partitions as the broker serves them: leadership, high watermark, purgatories."""
