"""A Tidelog broker for your test suite."""
