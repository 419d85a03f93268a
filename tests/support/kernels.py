"""The record kernel twice: as it is installed, and from its source without a compiler."""

import importlib.util
from pathlib import Path
from types import ModuleType

from protocol.records import cython_shadow, kernel

_SOURCE = Path(cython_shadow.__file__).with_name("kernel.py")


def load_uncompiled() -> ModuleType:
    """The source as a module of its own."""
    spec = importlib.util.spec_from_file_location("uncompiled_kernel", _SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


installed: ModuleType = kernel
uncompiled: ModuleType = load_uncompiled()
both = [uncompiled, installed] if kernel.COMPILED else [uncompiled]
