"""Every scripted life, stopped at every change it makes to the disk: storage comes back sound."""

import pytest

from tests.crash.engine import Explorer, all_ways, usual_ways
from tests.crash.lives import LIVES

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("name", LIVES)
def test_storage_survives_every_stop(name: str) -> None:
    explorer = Explorer(LIVES[name], usual_ways)
    explorer.run()
    assert explorer.starts > 100


@pytest.mark.long
@pytest.mark.parametrize("name", LIVES)
def test_storage_survives_every_stop_however_the_disk_comes_back(name: str) -> None:
    Explorer(LIVES[name], all_ways).run()
