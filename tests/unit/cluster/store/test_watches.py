from cluster.store.port import EventKind, WatchEvent
from cluster.store.watches import Watches


def test_changes_are_told_in_order_and_to_parents() -> None:
    watches = Watches()
    events: list[WatchEvent] = []
    watches.add("/a", events.append)
    watches.add("/a/b", events.append)
    watches.tell([(EventKind.CREATED, "/a/b"), (EventKind.CHANGED, "/a/b")])
    assert events == [
        WatchEvent(EventKind.CREATED, "/a/b"),
        WatchEvent(EventKind.CHILDREN, "/a"),
        WatchEvent(EventKind.CHANGED, "/a/b"),
    ]


def test_a_watcher_may_end_watches_while_it_is_told() -> None:
    watches = Watches()
    events: list[WatchEvent] = []
    end = watches.add("/a", lambda _: end())
    watches.add("/a", events.append)
    watches.tell([(EventKind.CREATED, "/a"), (EventKind.DELETED, "/a")])
    assert len(events) == 2
