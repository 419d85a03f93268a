"""How checkout packages become `tidelog.*` in a wheel."""

import pytest

from deploy.prefix_imports import UnclearImport, prefix_imports


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from protocol.errors import X\n", "from tidelog.protocol.errors import X\n"),
        ("import storage.jobs as jobs\n", "import tidelog.storage.jobs as jobs\n"),
        ("import protocol\n", "import tidelog.protocol as protocol\n"),
        ("import os, config as c\n", "import os, tidelog.config as c\n"),
        (
            "def f():\n    from cli.main import m\n",
            "def f():\n    from tidelog.cli.main import m\n",
        ),
        ("é = 1; from cli import x\n", "é = 1; from tidelog.cli import x\n"),
    ],
)
def test_imports_of_ours_are_prefixed(source: str, expected: str) -> None:
    assert prefix_imports(source, "x.py") == expected


@pytest.mark.parametrize(
    "source",
    [
        "import os\nfrom json import loads\n",
        "text = 'from protocol.errors import X'\n",
        "# from protocol import x\n",
        "protocol = 1\nprotocol.errors = 2\n",
        "from .protocol import x\n",
        "import protocols\n",
    ],
)
def test_everything_else_stays(source: str) -> None:
    assert prefix_imports(source, "x.py") == source


def test_an_import_that_binds_only_its_first_part_is_refused() -> None:
    with pytest.raises(UnclearImport, match=r"x\.py:1"):
        prefix_imports("import protocol.errors\n", "x.py")
