"""What is told to a cleaning and by it, through a process."""

import pickle

from storage.cleaner.order import Uncleanable


def test_what_is_wrong_survives_the_way_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(Uncleanable("/d/0.log", 17, "the checksum is wrong")))
    assert str(error) == "/d/0.log at position 17: the checksum is wrong"
