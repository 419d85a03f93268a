"""What pyproject.toml cannot say: the wheel's prefixed packages and the compiled kernel.

`setup.py build_ext --inplace` compiles the kernel beside its source for a checkout.
"""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "deploy"))
from prefix_imports import OURS, prefix_imports  # noqa: E402 - the folder is no package

KERNEL = "protocol/records/kernel.py"
IN_PLACE = "--inplace" in sys.argv


def packages_below(folder: str) -> list[str]:
    """Dotted names of a folder and the packages in it."""
    found = sorted((ROOT / folder).rglob("__init__.py"))
    return [".".join(path.parent.relative_to(ROOT).parts) for path in found]


class PrefixedBuild(build_py):
    """Copies modules into the wheel with their imports prefixed."""

    def build_module(
        self, module: str, module_file: str, package: str | tuple[str, ...]
    ) -> tuple[str, int]:
        """Copy one module, then write its prefixed text over the copy."""
        target, copied = super().build_module(module, module_file, package)
        source = Path(module_file).read_text(encoding="utf-8")
        Path(target).write_text(prefix_imports(source, module_file), encoding="utf-8")
        return target, copied


class OptionalKernel(build_ext):
    """Compiles the kernel where a compiler exists; without one the same source runs as Python."""

    def build_extension(self, ext: Extension) -> None:
        """Compile; in a wheel build a failure leaves the pure kernel, in a checkout it is told."""
        try:
            super().build_extension(ext)
        except Exception as error:
            if IN_PLACE:
                raise
            print(f"tidelog: kernel not compiled ({error}); the pure Python one serves")


def kernel_extension() -> list[Extension]:
    """The one compiled module, from its plain source or, for a wheel, from its prefixed text."""
    from Cython.Build import cythonize

    name, source = "protocol.records.kernel", Path(KERNEL)
    if not IN_PLACE:
        name = f"tidelog.{name}"
        source = Path("build/kernel/kernel.py")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(prefix_imports((ROOT / KERNEL).read_text(), KERNEL))
    extension = Extension(name, [str(source)], extra_compile_args=["-O3"])
    return list(cythonize([extension], quiet=True, build_dir="build/cython"))


names = [name for folder in OURS for name in packages_below(folder)]
setup(
    packages=["tidelog", *(f"tidelog.{name}" for name in names), "pytest_tidelog"],
    package_dir={
        "tidelog": "deploy/tidelog",
        **{f"tidelog.{name}": name.replace(".", "/") for name in names},
    },
    package_data={"tidelog": ["py.typed"], "pytest_tidelog": ["py.typed"]},
    ext_modules=kernel_extension(),
    cmdclass={"build_py": PrefixedBuild, "build_ext": OptionalKernel},
)
