"""A loaded log on its way from one process to another.

Recovery is CPU-bound, so big ones run in processes of their own: what they find out comes back as
bytes. The parts of a log hold nothing but facts, apart from the disk of their log directory and the
pool of open files, and these the receiver has itself: they travel as names. Segments, index entries
in memory, producers with their last five batches, epochs and offsets are carried as they are; the
files were written by the sender.
"""

import io
import pickle
from typing import Any

from runtime.disk import Disk
from storage.log.recovery import LoadedLog
from storage.segment.file_records import FilePool

_DISK, _POOL = "disk", "pool"


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, disk: Disk, pool: FilePool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = {id(disk): _DISK, id(pool): _POOL}

    def persistent_id(self, obj: Any) -> str | None:
        """The name of what stays behind."""
        return self._names.get(id(obj))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, disk: Disk, pool: FilePool) -> None:
        super().__init__(file)
        self._named = {_DISK: disk, _POOL: pool}

    def persistent_load(self, pid: str) -> Any:
        """What has this name here."""
        return self._named[pid]


def pack(loaded: LoadedLog, disk: Disk, pool: FilePool) -> bytes:
    """The log as bytes, its files closed."""
    for segment in loaded.segments:
        segment.close_files()
    file = io.BytesIO()
    _Packer(file, disk, pool).dump(loaded)
    return file.getvalue()


def unpack(data: bytes, disk: Disk, pool: FilePool) -> LoadedLog:
    """The log, over this disk and pool; for what `pack` made in a process of the same code."""
    loaded: LoadedLog = _Unpacker(io.BytesIO(data), disk, pool).load()
    return loaded
