"""Without Cython the kernel's source runs as it stands."""

import sys

import pytest

from protocol.records import cython_shadow
from protocol.records.record import RecordScan, encode_record
from tests.support import kernels


def test_the_kernel_runs_where_cython_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cython", None)
    kernel = kernels.load_uncompiled()
    assert kernel.cython is cython_shadow
    assert not kernel.COMPILED
    payload = encode_record(0, 2, b"k", b"v", [("h", None)])
    assert kernel.validate_records(payload, 1, 5, True, 0, 9) == RecordScan(7, 0, True, [])


def test_the_shadow_changes_nothing_it_decorates() -> None:
    for decorator in (cython_shadow.cclass, cython_shadow.cfunc, cython_shadow.final):
        assert decorator(len) is len
    assert cython_shadow.exceptval(check=False)(len) is len
    assert not cython_shadow.compiled
