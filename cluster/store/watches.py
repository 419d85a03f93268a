"""Who watches which path of a store that lives in this process."""

from collections.abc import Callable, Iterable

from cluster.store.port import EventKind, Watcher, WatchEvent, split_path

Change = tuple[EventKind, str]


class Watches:
    """Watchers by path; `tell` turns committed changes into their events, in order."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[Watcher]] = {}

    def add(self, path: str, watcher: Watcher) -> Callable[[], None]:
        """Start a watch; the result ends it and may be called twice."""
        split_path(path)
        watchers = self._watchers.setdefault(path, [])
        watchers.append(watcher)

        def end() -> None:
            if watcher in watchers:
                watchers.remove(watcher)

        return end

    def tell(self, changes: Iterable[Change]) -> None:
        """Call every watcher of a changed node, and of the parent of one that came or went."""
        if not self._watchers:
            return
        for kind, path in changes:
            self._call(path, kind)
            if kind is not EventKind.CHANGED:
                self._call(split_path(path)[0] or "/", EventKind.CHILDREN)

    def _call(self, path: str, kind: EventKind) -> None:
        for watcher in tuple(self._watchers.get(path, ())):
            watcher(WatchEvent(kind, path))
