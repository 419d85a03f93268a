"""`make docs`: write the pages of docs/ that are rendered from declarations."""

from pathlib import Path

from broker.metrics import describe as metrics
from config import render as configuration
from protocol.schema import describe as wire
from tests.support.served_apis import SERVED

DOCS = Path(__file__).parent.parent / "docs"


def main() -> None:
    """Write each page; tests compare them with the declarations."""
    (DOCS / "metrics.md").write_text(metrics.markdown())
    (DOCS / "configuration.md").write_text(configuration.render())
    (DOCS / "wire_protocol.md").write_text(wire.render(SERVED))


if __name__ == "__main__":
    main()
