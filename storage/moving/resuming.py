"""What a start makes of moves that were under way when the process ended, and of replicas too many.

    two live replicas, one marked moved-from    the marked one counts, the other is given up
    several, one with a topic id                that one counts, the others are left as they are
    several after a power cut, none with an id  one without a record counts, if there is one
    one without an id, a directory offline      left as it is: the log may be in that directory
    a copy beside a live log elsewhere          is loaded; its move goes on
    a copy, its live log nowhere                left as it is while a directory is offline, in which
                                                that log may be; reported otherwise
    a second copy, or one beside its own log    given up

A replica without a topic id was never flushed. A power cut brings it back when its topic had just
been deleted and made anew in another log directory: nothing in it was promised, and its records may
be of the topic that is gone. Nothing is removed by that guess, and once the other has its id, which
is durable before it is served, every later start decides alike.

Two live replicas that are still in question then are none of our doing and stop the start, as they
do in Kafka. Source: LogManager.loadLog, and `storage.moving.swapping` for the mark.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from protocol.model import TopicPartition
from storage.errors import StorageError
from storage.log_directory import LogDirectory
from storage.log_loading import LoadTask
from storage.moving.marks import remove_moved_from, was_moved
from storage.taken_names import has_bytes


class Found(NamedTuple):
    """What to load; what to give up, the replicas that count instead; what to leave."""

    tasks: list[LoadTask]
    given_up: list[LoadTask]
    moved: list[LoadTask]
    left: list[LoadTask]


def sort_out(
    tasks: Sequence[LoadTask], is_marked: Callable[[LoadTask], bool], *, all_online: bool = True
) -> Found:
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
            counting = _counting(of_one, all_online=all_online)
            found.tasks.extend(counting)
            found.left.extend(task for task in of_one if task not in counting)
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


def _counting(of_one: list[LoadTask], *, all_online: bool) -> list[LoadTask]:
    """The live replicas of one partition that count: one or none where that can be known."""
    named = [task for task in of_one if not task.is_unnamed]
    if named or not all_online:
        return named
    if len(of_one) > 1 and all(task.checkpoints.lost_power for task in of_one):
        empty = [task for task in of_one if not _has_bytes(task)]
        return (empty or of_one)[:1]
    return of_one


def _has_bytes(task: LoadTask) -> bool:
    try:
        return has_bytes(task.directory.disk, task.identity.directory)
    except StorageError:
        return True  # whoever loads it will tell


def reason_to_leave(task: LoadTask) -> str:
    """Why a replica or copy is among those that are left."""
    if task.is_future:
        return "it is a copy, and the log it was copied from is not here"
    return "it names no topic id, and the log is or may be in another log directory"


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
