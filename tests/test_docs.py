"""The pages keep up with the tree: what they name exists, what they link is there.

docs/architecture.md names code as `path/to/file.py` or `path/to/file.py:name` (a function, a class
or `Class.method`), and folders as `path/to/`. Commands in the README are lines of ```sh blocks
and `$ ` lines of ```console blocks.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from broker.metrics import describe as metrics
from cli.main import main as tidelog
from config.loading import load

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")],
    key=lambda path: str(path.relative_to(ROOT)),
)
ARCHITECTURE = ROOT / "docs" / "architecture.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BACKTICKED_FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.py)(?::([\w.]+))?`")
BACKTICKED_FOLDER = re.compile(r"`((?:[\w.-]+/)+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def page_names() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in PAGES]


def defined_names(path: Path) -> set[str]:
    """Functions, classes, assigned names and `Class.member` of a module."""
    names: set[str] = set()

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name}.")
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            names.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    collect(ast.parse(path.read_text()).body, "")
    return names


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def readme_commands() -> Iterator[str]:
    for language, block in FENCED.findall((ROOT / "README.md").read_text()):
        for line in block.splitlines():
            if language == "sh":
                yield line
            elif language == "console" and line.startswith("$ "):
                yield line[2:]


def test_files_and_functions_of_the_architecture_exist() -> None:
    missing = set()
    for file, name in BACKTICKED_FILE.findall(ARCHITECTURE.read_text()):
        path = ROOT / file
        if not path.is_file():
            missing.add(file)
        elif name and name not in defined_names(path):
            missing.add(f"{file}:{name}")
    assert missing == set()


def test_folders_of_the_architecture_exist() -> None:
    folders = BACKTICKED_FOLDER.findall(ARCHITECTURE.read_text())
    assert folders
    assert {folder for folder in folders if not (ROOT / folder).is_dir()} == set()


@pytest.mark.parametrize("name", page_names())
def test_relative_links_resolve(name: str) -> None:
    page = ROOT / name
    broken = set()
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.add(link)
    assert broken == set()


def test_make_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [(ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")]
    named = {name for page in pages for name in re.findall(r"\bmake ([a-z-]+)\b", page)}
    assert {"run", "test"} <= named
    assert named - targets == set()


def test_tidelog_commands_of_the_readme_exist_with_their_options() -> None:
    found = 0
    for line in readme_commands():
        for part in re.split(r"\||&&", line):
            words = part.split()
            names = [index for index, word in enumerate(words) if word.endswith("tidelog")]
            if names and names[0] == 0:
                found += 1
                check_command(words[1:])
    assert found


def check_command(words: list[str]) -> None:
    """Follow sub-commands, then find every option that is given."""
    command: click.Command = tidelog
    while isinstance(command, click.Group):
        assert words, f"{command.name} needs a sub-command"
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"tidelog {words[0]} does not exist"
        command, words = found, words[1:]
    options = {option for parameter in command.params for option in parameter.opts}
    options |= {option for parameter in command.params for option in parameter.secondary_opts}
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    assert given - options == set(), f"tidelog {command.name}"


def test_deployed_commands_have_options_that_exist() -> None:
    unit = (ROOT / "deploy" / "tidelog.service").read_text()
    (start,) = re.findall(r"^ExecStart=\S+/tidelog (.+)$", unit, re.MULTILINE)
    check_command(start.split())
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    (entry,) = re.findall(r"^ENTRYPOINT \[(.+)\]$", dockerfile, re.MULTILINE)
    check_command(re.findall(r'"([^"]*)"', entry)[1:])


def test_settings_of_the_image_are_known() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    given = dict(re.findall(r"(TIDELOG_[A-Z_]+)=(\S+)", dockerfile))
    assert given
    assert load(None, given).warnings == ()


def test_alerts_are_about_metrics_that_exist() -> None:
    alerts = (ROOT / "deploy" / "alerts.yml").read_text()
    named = set(re.findall(r"\b(?:kafka|tidelog)_\w+", alerts))
    assert named
    assert {name for name in named if f"`{name}`" not in metrics.markdown()} == set()
