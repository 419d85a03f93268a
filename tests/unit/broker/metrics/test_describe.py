"""The page about metrics tells what is declared."""

from pathlib import Path

from broker.metrics.declarations import DECLARED
from broker.metrics.describe import markdown

PAGE = Path(__file__).parents[4] / "docs" / "metrics.md"


def test_every_metric_has_its_row() -> None:
    page = markdown()
    assert all(f"| `{declared.shown_name}` |" in page for declared in DECLARED.values())


def test_the_page_in_docs_is_current() -> None:
    assert PAGE.read_text() == markdown(), "run make docs"
