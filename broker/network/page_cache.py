"""Would reading this part of a file wait for the disk?

sendfile and pread sleep in the kernel when a page is not in memory, and the whole loop with them.
`preadv(RWF_NOWAIT)` of single bytes tells beforehand; the kernel reads ahead in windows at least
as large as `STRIDE`, so one probe a window finds a cold range. Where a file system or a system
cannot tell, everything counts as resident.
"""

import os

STRIDE = 128 * 1024

_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)


def resident(fd: int, position: int, nbytes: int) -> bool:
    """False if some of the range is known not to be in memory."""
    if not _NOWAIT or nbytes <= 0:
        return True
    probe = (bytearray(1),)
    last = position + nbytes - 1
    try:
        for at in range(position, last, STRIDE):
            os.preadv(fd, probe, at, _NOWAIT)
        os.preadv(fd, probe, last, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True  # not supported here, or a fault that the real read will report
    return True
