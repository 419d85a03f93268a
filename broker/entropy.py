"""Random numbers and ids, from the operating system.

The place of `random.Random` in the running broker: a simulation passes a seeded one instead.
"""

import binascii
import os


class SystemEntropy:
    """Never repeats, cannot be guessed, and costs no import at start."""

    __slots__ = ()

    def randrange(self, stop: int, /) -> int:
        """A number from 0 to stop, exclusive; the bias is below stop / 2^64."""
        return int.from_bytes(os.urandom(8), "big") % stop

    def unique(self) -> str:
        """32 hex digits that were never used."""
        return os.urandom(16).hex()

    def topic_id(self) -> bytes:
        """16 bytes that are no reserved id and whose text does not begin with a dash."""
        while (drawn := os.urandom(16))[0] >> 2 == 62 or not any(drawn[:15]):
            pass
        return drawn

    def cluster_id(self) -> str:
        """22 characters of URL-safe base64: the form of Kafka's cluster and directory ids."""
        text = binascii.b2a_base64(self.topic_id(), newline=False).decode("ascii")
        return text.rstrip("=").replace("+", "-").replace("/", "_")
