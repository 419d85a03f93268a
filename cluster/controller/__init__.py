"""The controller: one queue, decisions as pure functions."""
