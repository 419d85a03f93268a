"""Measurements: the broker beside a floor and beside any peer."""
