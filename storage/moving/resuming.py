"""What a start makes of moves that were under way when the process ended.

    two live replicas, one marked moved-from    the marked one counts, the other is given up
    a copy beside a live log elsewhere          is loaded; its move goes on
    a copy, its live log nowhere                left as it is while a directory is offline, in which
                                                that log may be; reported otherwise
    a second copy, or one beside its own log    given up

Two live replicas without the mark on exactly one of them are none of our doing and stop the start,
as they do in Kafka. Source: LogManager.loadLog, and `storage.moving.swapping` for the mark.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from protocol.model import TopicPartition
from storage.log_directory import LogDirectory
from storage.log_loading import LoadTask
from storage.moving.marks import remove_moved_from, was_moved


class Found(NamedTuple):
    """What to load; what to give up, the replicas that count instead; copies to be left."""

    tasks: list[LoadTask]
    given_up: list[LoadTask]
    moved: list[LoadTask]
    left: list[LoadTask]


def sort_out(tasks: Sequence[LoadTask], is_marked: Callable[[LoadTask], bool]) -> Found:
    """Decide by partition what is what; `is_marked` is asked of live replicas there are two of."""
    found = Found([], [], [], [])
    lives: dict[TopicPartition, list[LoadTask]] = {}
    copies: dict[TopicPartition, list[LoadTask]] = {}
    for task in tasks:
        kind = copies if task.is_future else lives
        kind.setdefault(task.identity.topic_partition, []).append(task)
    for of_one in lives.values():
        marked = [task for task in of_one if is_marked(task)] if len(of_one) > 1 else []
        if len(marked) == 1:
            found.tasks.append(marked[0])
            found.moved.append(marked[0])
            found.given_up.extend(task for task in of_one if task is not marked[0])
        else:
            found.tasks.extend(of_one)
    homes = {task.identity.topic_partition: task.directory for task in found.tasks}
    for partition, of_one in copies.items():
        home = homes.get(partition)
        if home is None:
            found.left.extend(of_one)
            continue
        elsewhere = [task for task in of_one if task.directory is not home]
        found.tasks.extend(elsewhere[:1])
        found.given_up.extend(task for task in of_one if task not in elsewhere[:1])
    return found


def is_marked(task: LoadTask) -> bool:
    """Whether this replica says that it was moved here."""
    return was_moved(task.directory.disk, task.identity.directory)


def drop_marks(tasks: Sequence[LoadTask], directories: Sequence[LogDirectory]) -> None:
    """Replicas that are the only one of their partition need no mark.

    While a directory is offline they keep it: the other replica may be there.
    """
    if len(directories) < 2 or any(directory.offline for directory in directories):
        return
    marked = [task for task in tasks if not task.is_future and is_marked(task)]
    if marked:
        for directory in directories:
            directory.disk.fsync_dir(directory.path)
    for task in marked:
        remove_moved_from(task.directory.disk, task.identity.directory)
