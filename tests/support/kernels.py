"""The compiled modules twice: as they are installed, and from their sources without a compiler."""

import importlib.util
from pathlib import Path
from types import ModuleType

from protocol.records import compaction, cython_shadow, kernel

_FOLDER = Path(cython_shadow.__file__).parent


def load_uncompiled(name: str = "kernel") -> ModuleType:
    """A source as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"uncompiled_{name}", _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


installed: ModuleType = kernel
uncompiled: ModuleType = load_uncompiled()
both = [uncompiled, installed] if kernel.COMPILED else [uncompiled]

installed_compaction: ModuleType = compaction
uncompiled_compaction: ModuleType = load_uncompiled("compaction")
both_compactions = (
    [uncompiled_compaction, installed_compaction]
    if compaction.COMPILED
    else [uncompiled_compaction]
)
