"""A partition's log: segments, offsets, validation, recovery, retention."""
