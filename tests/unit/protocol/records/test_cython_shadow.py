"""Without Cython the kernel's source runs as it stands."""

import subprocess
import sys
from pathlib import Path

from protocol.records import cython_shadow

RUN_WITHOUT_CYTHON = """
import importlib.util, sys
sys.modules["cython"] = None
spec = importlib.util.spec_from_file_location("uncompiled_kernel", sys.argv[1])
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
assert not kernel.COMPILED
scan = kernel.validate_records(bytes.fromhex("0c0000000101 00".replace(" ", "")), 1, 5, 0, 0, 9)
print(scan.max_timestamp, scan.offset_of_max_timestamp)
"""


def test_the_kernel_runs_where_cython_is_not_installed() -> None:
    source = Path(cython_shadow.__file__).with_name("kernel.py")
    root = source.parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", RUN_WITHOUT_CYTHON, str(source)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("5 0\n", "")


def test_the_shadow_changes_nothing_it_decorates() -> None:
    for decorator in (cython_shadow.cclass, cython_shadow.cfunc, cython_shadow.final):
        assert decorator(len) is len
    assert cython_shadow.exceptval(check=False)(len) is len
    assert not cython_shadow.compiled
