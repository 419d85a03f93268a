"""Who leads what: metadata store, znodes, controller, metadata cache."""
