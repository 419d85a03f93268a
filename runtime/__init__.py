"""What the process lends to everyone: time, timers, threads, disk, metrics, logs."""
