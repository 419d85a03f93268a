"""Every call of every scripted life fails once: the directory goes offline, nothing is lost."""

import pytest

from tests.crash.engine import CUT, KILL
from tests.crash.failing_disk import FAILURES, explore
from tests.crash.lives import LIVES

pytestmark = pytest.mark.usefixtures("quiet")

SOME = 61
"""Calls between two that fail in the short run; each way begins at another one."""
WAYS = [(failure, way) for failure in FAILURES for way in (KILL, CUT)]


@pytest.mark.parametrize("name", LIVES)
def test_storage_survives_a_call_that_fails(name: str) -> None:
    for index, (failure, way) in enumerate(WAYS):
        assert list(explore(LIVES[name], failure, way, SOME, 1 + index * SOME // len(WAYS)))


@pytest.mark.long
@pytest.mark.parametrize(("failure", "way"), WAYS)
@pytest.mark.parametrize("name", LIVES)
def test_storage_survives_any_call_that_fails(name: str, failure: str, way: str) -> None:
    assert list(explore(LIVES[name], failure, way, 1))
