"""Apache Kafka itself as the oracle: its tools read our files, its broker answers beside ours."""
