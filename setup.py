"""What pyproject.toml cannot say: the wheel's prefixed packages and the compiled modules.

`setup.py build_ext --inplace` compiles these beside their sources for a checkout.
"""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "deploy"))
from prefix_imports import OURS, prefix_imports  # noqa: E402 - the folder is no package

COMPILED = ("protocol/records/kernel.py", "protocol/records/compaction.py")
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
    """Compiles where a compiler exists; without one the same sources run as Python."""

    def build_extension(self, ext: Extension) -> None:
        """Compile; in a wheel build a failure leaves the pure kernel, in a checkout it is told."""
        try:
            super().build_extension(ext)
        except Exception as error:
            if IN_PLACE:
                raise
            print(f"tidelog: kernel not compiled ({error}); the pure Python one serves")


def compiled_extensions() -> list[Extension]:
    """The compiled modules, from plain source or, for a wheel, from its prefixed text."""
    from Cython.Build import cythonize

    return list(
        cythonize(
            [_extension(Path(source)) for source in COMPILED], quiet=True, build_dir="build/cython"
        )
    )


def _extension(source: Path) -> Extension:
    name = ".".join(source.with_suffix("").parts)
    if not IN_PLACE:
        name = f"tidelog.{name}"
        prefixed = Path("build/kernel") / source.name
        prefixed.parent.mkdir(parents=True, exist_ok=True)
        prefixed.write_text(prefix_imports((ROOT / source).read_text(), str(source)))
        source = prefixed
    return Extension(name, [str(source)], extra_compile_args=["-O3"])


names = [name for folder in OURS for name in packages_below(folder)]
setup(
    packages=["tidelog", *(f"tidelog.{name}" for name in names), "pytest_tidelog"],
    package_dir={
        "tidelog": "deploy/tidelog",
        **{f"tidelog.{name}": name.replace(".", "/") for name in names},
    },
    package_data={"tidelog": ["py.typed"], "pytest_tidelog": ["py.typed"]},
    ext_modules=compiled_extensions(),
    cmdclass={"build_py": PrefixedBuild, "build_ext": OptionalKernel},
)
