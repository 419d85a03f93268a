"""docs/configuration.md says what the declarations say."""

from pathlib import Path

import pytest

from config import render
from config.catalogue import KEYS
from config.keys import topics

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == render.render(), "run make docs"


def test_every_setting_is_on_the_page() -> None:
    page = render.render()
    for key in (*KEYS.values(), *topics.AREA.keys):
        assert (f"| `{key.name}` |" in page) is not key.internal, key.name


def test_the_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    render.main()
    assert capsys.readouterr().out == render.render()
