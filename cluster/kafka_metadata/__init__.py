"""What an Apache Kafka broker knew of its cluster, read from and written to where it kept it."""
