"""Record batches, format version 2."""
