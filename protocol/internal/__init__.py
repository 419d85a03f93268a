"""Records that brokers write for themselves: in the internal topics and in the metadata log."""
