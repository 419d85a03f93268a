"""The operating system's disk with a clock beside its fsync, the one call whose time is watched."""

from runtime.clock import Clock
from runtime.disk import OsDisk
from runtime.metrics import Summary


class TimedDisk(OsDisk):
    """`fsync_s` observes each fsync in seconds, from whichever thread it ran in.

    Two threads that end at the same instant may lose one observation; nothing else is at stake.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.fsync_s = Summary()
        self._monotonic = clock.monotonic

    def fsync(self, fd: int) -> None:
        """Sync data and length."""
        began = self._monotonic()
        super().fsync(fd)
        self.fsync_s.observe(self._monotonic() - began)
