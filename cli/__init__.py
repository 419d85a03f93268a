"""The tidelog command."""
