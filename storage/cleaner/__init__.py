"""The log cleaner: keeps of each key the last record (`cleanup.policy=compact`)."""
