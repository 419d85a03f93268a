"""Records in a file, as reads carry them."""

from storage.segment.file_records import FilePool, FileSlice, PooledFile
from tests.support.fault_disk import FaultDisk


def slice_of(nbytes: int) -> FileSlice:
    """So many bytes of a file in memory."""
    file = PooledFile(FaultDisk(), FilePool(1), "/00000000000000000000.log")
    file.create()
    return file.slice(0, nbytes)
