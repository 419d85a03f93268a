"""Moving a partition's log to another log directory while it is written and read."""
