"""What must hold in a data directory, one module a kind of file; used by storage.audit."""
