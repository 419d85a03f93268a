"""The settings by area."""
