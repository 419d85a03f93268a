from pathlib import Path

import pytest

from protocol.schema import describe
from protocol.schema.describe import import_all, main, render
from protocol.schema.message import REQUESTS

ROOT = Path(describe.__file__).parents[2]


def test_the_committed_page_is_up_to_date() -> None:
    import_all()
    assert (ROOT / "docs" / "wire_protocol.md").read_text() == render(), (
        "run: python -m protocol.schema.describe > docs/wire_protocol.md"
    )


def test_every_api_has_a_row_and_its_fields() -> None:
    import_all()
    page = render()
    for key, request in REQUESTS.items():
        name = request.__name__.removesuffix("Request")
        assert f"| {int(key)} | [{name}](#" in page
        assert f"\n### {name}\n" in page
        assert f"\n{request.__name__}\n" in page


def test_the_page_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert capsys.readouterr().out == render()
