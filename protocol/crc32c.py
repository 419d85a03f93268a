"""CRC-32C (Castagnoli), the checksum of record batches: the hardware one of the crc32c wheel."""

from crc32c import crc32c

__all__ = ["crc32c"]
