"""Every setting, declared once as data."""
