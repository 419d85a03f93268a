"""Consumer groups: what a partition of `__consumer_offsets` knows of them, and decides."""
