"""Which topics a regular expression of a consumer group subscribes to (KIP-848).

An expression is a member's own text, and so must cost no more than it is long: it becomes an
automaton, of which a name is in one set of places at a time, with no way back. Sets are worked out
when a name first leads there and kept, so that of many names alike each costs a look-up a
character.

    program   places: Characters -> next | Fork -> several | Assertion -> next | Match
    state     the places a name may have come to, and what the character before them was;
              where it may go on depends on whether a word goes on, for \\b and its like

An expression matches a name as a whole, internal topics' too.
Source: Thompson, "Regular expression search algorithm" (1968); RE2's lazy DFA; Kafka 4.3
`GroupMetadataManager.validateRegex`, which compiles with RE2/J.
"""

import enum
from collections.abc import Iterable
from typing import Final, TypeAlias

from broker.coordinator.group.regex_characters import WORD
from broker.coordinator.group.regex_syntax import (
    Assertion,
    AssertionKind,
    Characters,
    Choice,
    InvalidPattern,
    Node,
    Sequence,
    parse,
)

MAX_LENGTH: Final = 16_384
"""Characters of an expression."""
MAX_PLACES: Final = 4_000
"""Of a program: a state's successor that is not known yet costs so many steps at worst, 1 ms."""
KEPT_PLACES: Final = 400_000
"""Of all states together at worst, 20 MB; with more, all are forgotten and worked out again."""
TOO_LARGE: Final = "expression is too large"


class TopicPattern:
    """One expression, ready to be asked for names."""

    __slots__ = ("_max_states", "_places", "_start", "_states", "text")

    def __init__(self, text: str) -> None:
        """InvalidPattern, with a message for the client, for what is none or is too large."""
        if len(text) > MAX_LENGTH:
            raise InvalidPattern(TOO_LARGE)
        program = _Program(parse(text))
        self.text = text
        self._places = program.places
        self._max_states = KEPT_PLACES // len(program.places)
        self._states: dict[tuple[frozenset[int], _Side], _State] = {}
        self._start = self._state(frozenset({program.start}), _Side.EDGE)

    def matches(self, topic: str) -> bool:
        """Whether the whole name is matched; no name with anything beyond ASCII is."""
        if not topic.isascii():
            return False
        state = self._start
        for code in topic.encode():
            following = state.following.get(code)
            if following is None:
                following = state.following[code] = self._step(state, code)
            state = following
            if not state.places:
                return False
        if state.accepts is None:
            state.accepts = self._reaches_match(state)
        return state.accepts

    def among(self, topics: Iterable[str]) -> list[str]:
        """Those of the topics that match, in their order."""
        return [topic for topic in topics if self.matches(topic)]

    def _state(self, places: frozenset[int], before: "_Side") -> "_State":
        state = self._states.get((places, before))
        if state is None:
            if len(self._states) >= self._max_states:
                self._forget()
            state = self._states[places, before] = _State(places, before)
        return state

    def _forget(self) -> None:
        """Begin anew; states in somebody's hands lead to new ones from here on."""
        self._states.clear()
        self._start.following.clear()
        self._states[self._start.places, self._start.before] = self._start

    def _step(self, state: "_State", code: int) -> "_State":
        after = _Side.WORD if WORD >> code & 1 else _Side.OTHER
        reached = self._reach(state, after)
        following = frozenset(
            place.next
            for place in map(self._places.__getitem__, reached)
            if isinstance(place, _Step) and place.mask >> code & 1
        )
        return self._state(following, after)

    def _reaches_match(self, state: "_State") -> bool:
        return any(self._places[place] is _MATCH for place in self._reach(state, _Side.EDGE))

    def _reach(self, state: "_State", after: "_Side") -> list[int]:
        """All places that forks and assertions lead to before a character of that kind."""
        reached = state.reached.get(after)
        if reached is None:
            seen = set(state.places)
            reached = list(seen)
            for index in reached:
                place = self._places[index]
                onward: tuple[int, ...] = ()
                if isinstance(place, _Fork):
                    onward = place.ways
                elif isinstance(place, _Check) and _holds(place.kind, state.before, after):
                    onward = (place.next,)
                reached += [way for way in onward if way not in seen]
                seen.update(onward)
            state.reached[after] = reached
        return reached


class _Side(enum.Enum):
    """What is on one side of a place between characters."""

    EDGE = enum.auto()
    WORD = enum.auto()
    OTHER = enum.auto()


def _holds(kind: AssertionKind, before: _Side, after: _Side) -> bool:
    if kind is AssertionKind.BEGIN:
        return before is _Side.EDGE
    if kind is AssertionKind.END:
        return after is _Side.EDGE
    is_boundary = (before is _Side.WORD) is not (after is _Side.WORD)
    return is_boundary is (kind is AssertionKind.WORD_BOUNDARY)


class _State:
    """A set of places, and what is known of where it leads."""

    __slots__ = ("accepts", "before", "following", "places", "reached")

    def __init__(self, places: frozenset[int], before: _Side) -> None:
        self.places = places
        self.before = before
        self.following: dict[int, _State] = {}
        self.reached: dict[_Side, list[int]] = {}
        self.accepts: bool | None = None


class _Step:
    """Goes on with one of a set of characters."""

    __slots__ = ("mask", "next")

    def __init__(self, mask: int, onward: int) -> None:
        self.mask = mask
        self.next = onward


class _Check:
    """Goes on where an assertion holds."""

    __slots__ = ("kind", "next")

    def __init__(self, kind: AssertionKind, onward: int) -> None:
        self.kind = kind
        self.next = onward


class _Fork:
    """Goes on in several ways at once."""

    __slots__ = ("ways",)

    def __init__(self, ways: tuple[int, ...]) -> None:
        self.ways = ways


class _Match:
    """The end of the expression."""

    __slots__ = ()


_MATCH: Final = _Match()
_Place: TypeAlias = _Step | _Check | _Fork | _Match


class _Program:
    """A tree written out as places, from its end to its start, so that each knows the next."""

    def __init__(self, tree: Node) -> None:
        self.places: list[_Place] = [_MATCH]
        self.start = self._write(tree, 0)

    def _add(self, place: _Place) -> int:
        if len(self.places) >= MAX_PLACES:
            raise InvalidPattern(TOO_LARGE)
        self.places.append(place)
        return len(self.places) - 1

    def _write(self, node: Node, onward: int) -> int:
        """Where a node begins that goes on at `onward`."""
        if isinstance(node, Characters):
            return self._add(_Step(node.mask, onward))
        if isinstance(node, Assertion):
            return self._add(_Check(node.kind, onward))
        if isinstance(node, Sequence):
            for item in reversed(node.items):
                onward = self._write(item, onward)
            return onward
        if isinstance(node, Choice):
            return self._add(_Fork(tuple(self._write(item, onward) for item in node.items)))
        start = onward
        if node.high is None:
            fork = _Fork(())
            start = self._add(fork)
            fork.ways = (self._write(node.item, start), onward)
        else:
            for _ in range(node.high - node.low):
                start = self._add(_Fork((self._write(node.item, start), onward)))
        for _ in range(node.low):
            before = start
            start = self._write(node.item, before)
            if start == before:
                break  # Of nothing, once is as good as a million times.
        return start
