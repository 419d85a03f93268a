"""A directory that Kafka wrote, on the real file system, for tests of commands."""

import functools
import os
import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).parent.parent / "golden" / "storage-dirs.tar.xz"
PREALLOCATED_BYTES = 10485760


@functools.cache
def _files() -> dict[str, bytes]:
    """Content of each file by its path; the directory comes first in the archive."""
    found: dict[str, bytes] = {}
    with tarfile.open(ARCHIVE, "r|xz") as archive:
        for member in archive:
            path = member.name.removeprefix("./")
            if found and not path.startswith("clean/"):
                break
            file = archive.extractfile(member) if path.startswith("clean/") else None
            if file is not None:
                found[path] = file.read()
    return found


def unpack(folder: Path) -> Path:
    """The directory `clean`, as Kafka closed it, below a folder."""
    for path, content in _files().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder / "clean"


def leave_as_if_killed(log_dir: Path) -> None:
    """No mark of a clean shutdown, and the last indexes as long as Kafka reserves them."""
    (log_dir / ".kafka_cleanshutdown").unlink()
    for log in {max(folder.parent.glob("*.log")) for folder in log_dir.glob("*/*.log")}:
        for kind in (".index", ".timeindex"):
            os.truncate(log.with_suffix(kind), PREALLOCATED_BYTES // 12 * 12)


def flip(path: Path, at: int) -> None:
    """Flip a bit of one byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
