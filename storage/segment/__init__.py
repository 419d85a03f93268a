"""One segment: record file, indexes, transaction index."""
