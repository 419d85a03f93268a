"""The house rules a linter cannot know: sizes, mirrored tests, names, documented settings.

EXEMPT may only shrink: an entry that is no longer needed fails the test.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "protocol",
    "config",
    "runtime",
    "storage",
    "cluster",
    "broker",
    "cli",
    "pytest_tidelog",
)
MODULE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 6
MANAGERS = {"ReplicaManager", "LogManager", "ReplicaFetcherManager", "ReplicaAlterLogDirsManager"}
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "impl", "misc"}
FORBIDDEN_WORDS = re.compile(r"\b(T[O]DO|FIX[M]E|X{3})\b")
EXEMPT: dict[str, set[str]] = {
    "unmirrored": set(),
    "long function": set(),
    "many parameters": set(),
}


def modules() -> list[Path]:
    """Every module of the product, packages' own docstring files left out."""
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path for path in found if path.name != "__init__.py")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def check_exempt(rule: str, offenders: set[str]) -> None:
    """Offenders must be exempt, and exemptions must still be needed."""
    assert offenders - EXEMPT[rule] == set(), f"{rule}: mend these"
    assert EXEMPT[rule] - offenders == set(), f"{rule}: these exemptions are no longer needed"


def test_modules_fit_in_one_reading() -> None:
    sizes = {name_of(path): len(path.read_text().splitlines()) for path in modules()}
    assert {name: size for name, size in sizes.items() if size > MODULE_LINES} == {}


def test_functions_hold_one_thought() -> None:
    check_exempt(
        "long function",
        {
            f"{name_of(path)}:{node.name}"
            for path in modules()
            for node in functions(path)
            if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
        },
    )


def test_functions_take_few_parameters() -> None:
    """Keyword-only constructor wiring counts as well; self and cls do not."""

    def count(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        return len([name for name in names if name not in ("self", "cls")])

    check_exempt(
        "many parameters",
        {
            f"{name_of(path)}:{node.name}"
            for path in modules()
            for node in functions(path)
            if node.name != "__init__" and count(node) > PARAMETERS
        },
    )


def test_every_module_has_its_test_module() -> None:
    """storage/epochs.py is tested by tests/unit/storage/test_epochs.py; declarations are not."""
    declarations = ("protocol/messages/", "config/keys/")
    check_exempt(
        "unmirrored",
        {
            name
            for path in modules()
            if not (name := name_of(path)).startswith(declarations)
            and not any(
                (ROOT / "tests" / kind / Path(name).parent / f"test_{path.name}").exists()
                for kind in ("unit", "property", "interop")
            )
        },
    )


def test_modules_and_classes_are_named_for_what_they_are() -> None:
    bad = {name_of(path) for path in modules() if path.stem in FORBIDDEN_NAMES}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Manager"):
                bad |= {f"{name_of(path)}:{node.name}"} if node.name not in MANAGERS else set()
    assert bad == set()


def test_nothing_is_left_unfinished_in_writing() -> None:
    assert {
        name_of(path) for path in modules() if FORBIDDEN_WORDS.search(path.read_text())
    } == set()


def test_packages_hold_only_a_docstring() -> None:
    """So that importing one module costs that module alone."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("__init__.py"):
            body = ast.parse(path.read_text()).body
            assert len(body) == 1, f"{name_of(path)} holds code"
            assert isinstance(body[0], ast.Expr), f"{name_of(path)} has no docstring"
