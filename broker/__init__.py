"""The server: network, dispatch, handlers, replicas, metrics."""
