from pathlib import Path

from protocol.api_keys import ApiKey
from protocol.schema import describe
from protocol.schema.describe import render
from protocol.schema.message import REQUESTS
from tests.support.served_apis import SERVED

ROOT = Path(describe.__file__).parents[2]


def test_the_committed_page_is_up_to_date() -> None:
    committed = (ROOT / "docs" / "wire_protocol.md").read_text()
    assert committed == render(SERVED), "run: make docs"


def test_every_served_api_has_a_row_and_its_fields() -> None:
    page = render(SERVED)
    for key in SERVED:
        request = REQUESTS[key]
        name = request.__name__.removesuffix("Request")
        assert f"| {int(key)} | [{name}](#" in page
        assert f"\n### {name}\n" in page
        assert f"\n{request.__name__}\n" in page


def test_an_api_that_is_only_declared_is_not_on_the_page() -> None:
    page = render([ApiKey.FETCH])
    assert "FetchRequest" in page
    assert "ProduceRequest" not in page


def test_every_declared_api_can_be_described() -> None:
    describe.import_all()
    assert render(REQUESTS).count("\n### ") == len(REQUESTS)
