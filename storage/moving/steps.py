"""What a move has to do next, decided from two logs: the current one and its future copy.

    the copy ends before the current log begins     BEGIN   anew, at the current log's first segment
    the copy holds what the current log does not    CUT     back to where both agree
    the copy is behind                              COPY
    else                                            NOTHING to copy

Two logs agree up to the offset where their leader epochs part: the rule by which a follower meets
its leader, the current log being the leader. So nothing has to be remembered of a move: after a
restart, or a truncation of the current log, the same question gives the right answer.
Source: ReplicaAlterLogDirsThread, AbstractFetcherThread.getOffsetTruncationState (4.3).
"""

import enum
from typing import NamedTuple

from storage.epochs import UNDEFINED_EPOCH, LeaderEpochCache
from storage.log.partition_log import PartitionLog


class Extent(NamedTuple):
    """What there is of a log: where its first segment in use begins, its end, its epochs."""

    first_offset: int
    end_offset: int
    epochs: LeaderEpochCache


class Action(enum.Enum):
    """What to do with the copy."""

    BEGIN = enum.auto()
    CUT = enum.auto()
    COPY = enum.auto()
    NOTHING = enum.auto()


class Step(NamedTuple):
    """An action, and the offset it is about."""

    action: Action
    offset: int


def extent_of(log: PartitionLog) -> Extent:
    """A log from the segment that holds its start on: what lies before it is not copied."""
    first = log.segments.floor(log.log_start_offset) or log.segments.first
    return Extent(first.base_offset, log.log_end_offset, log.epochs)


def next_step(current: Extent, future: Extent) -> Step:
    """See the module."""
    if future.end_offset < current.first_offset:
        return Step(Action.BEGIN, current.first_offset)
    agreed = agreed_end_offset(current, future)
    if agreed < future.end_offset:
        if agreed < max(future.first_offset, current.first_offset):
            return Step(Action.BEGIN, current.first_offset)
        return Step(Action.CUT, agreed)
    if future.end_offset < current.end_offset:
        return Step(Action.COPY, future.end_offset)
    return Step(Action.NOTHING, future.end_offset)


def agreed_end_offset(current: Extent, future: Extent) -> int:
    """Up to where, exclusive, the copy may be believed.

    Where the answer lies below the copy's end, the question is to be asked again after the cut.
    """
    end_offset = min(current.end_offset, future.end_offset)
    epoch = future.epochs.latest_epoch
    if UNDEFINED_EPOCH in (epoch, current.epochs.latest_epoch):
        return end_offset
    found, their_end_offset = current.epochs.end_offset_for(epoch, current.end_offset)
    if found == UNDEFINED_EPOCH:
        return min(end_offset, future.epochs.start_offset_of(epoch))
    if found < epoch:
        known, own_end_offset = future.epochs.end_offset_for(found, future.end_offset)
        if known != UNDEFINED_EPOCH:
            their_end_offset = min(their_end_offset, own_end_offset)
    return min(end_offset, their_end_offset)
