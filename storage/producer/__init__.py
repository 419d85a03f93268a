"""What a log remembers of its producers."""
