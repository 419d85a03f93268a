"""A file system so small that it fills up."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def tiny_file_system(place: Path, size: str) -> Iterator[Path]:
    """A fresh file system of that size (as mount writes it) at `place`.

    Skips the test, visibly, where this process may not mount one.
    """
    place.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if not done or done.returncode:
        pytest.skip("this process may not mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
