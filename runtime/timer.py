"""A hierarchical timing wheel: many timers, most of them cancelled before they are due.

A long poll arms a timer and nearly always cancels it, so adding and cancelling must cost O(1)
whatever the number of timers. Level 0 counts single ticks; a slot of level n + 1 spans a whole
turn of level n. A slot that comes due on a higher level is dealt out again below it.

    level 0   |0|1|2| … |63|            one tick a slot
    level 1   |64 … 127|128 … 191| …    64 ticks a slot
    level 2   |4096 … 8191| …           4096 ticks a slot

Only occupied slots exist; a heap of their due ticks says when to look next. A timer never fires
before its deadline, and at most one tick after the wheel is advanced past it.

Source: Varghese and Lauck; Kafka's `TimingWheel` and `SystemTimer`, which keep the same levels.
"""

import heapq
from collections.abc import Callable

Callback = Callable[[], None]


class TimerEntry:
    """One armed timer; cancelling it twice, or after it fired, does nothing."""

    __slots__ = ("_slot", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callback) -> None:
        self.deadline_ms = deadline_ms
        self.callback = callback
        self._slot: dict[TimerEntry, None] | None = None

    def cancel(self) -> None:
        """The callback is not called any more, even if the timer was found due already."""
        slot = self._slot
        if slot is not None:
            self._slot = None
            del slot[self]

    def fire(self) -> None:
        """Call the callback, unless it was called or cancelled before."""
        if self._slot is not None:
            self.cancel()
            self.callback()

    @property
    def active(self) -> bool:
        """Neither fired nor cancelled."""
        return self._slot is not None

    def _place(self, slot: "dict[TimerEntry, None]") -> None:
        self._slot = slot
        slot[self] = None


class TimingWheel:
    """Timers in slots; the owner advances it with the time and fires what it hands back."""

    __slots__ = ("_due_slots", "_now_tick", "_slots", "_tick_ms", "_wheel_size")

    def __init__(self, tick_ms: int, wheel_size: int, start_ms: int) -> None:
        assert tick_ms > 0
        assert wheel_size > 1
        self._tick_ms = tick_ms
        self._wheel_size = wheel_size
        self._now_tick = start_ms // tick_ms
        self._slots: dict[tuple[int, int], dict[TimerEntry, None]] = {}
        self._due_slots: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        """Armed timers; walks the occupied slots."""
        return sum(map(len, self._slots.values()))

    def add(self, deadline_ms: int, callback: Callback) -> TimerEntry:
        """Arm a timer; one whose deadline has passed comes out of the next `advance`."""
        entry = TimerEntry(deadline_ms, callback)
        self._insert(entry)
        return entry

    def advance(self, now_ms: int) -> list[TimerEntry]:
        """Move to `now_ms` and return what is due, earlier slots first, for the owner to fire.

        One due timer may still cancel another. Time never goes back.
        """
        due: list[TimerEntry] = []
        heap = self._due_slots
        target = max(now_ms // self._tick_ms, self._now_tick)
        while heap and heap[0][0] <= target:
            tick, level, span = heapq.heappop(heap)
            slot = self._slots.pop((level, tick // span))
            self._now_tick = max(tick, self._now_tick)
            for entry in slot:
                if level == 0 or self._tick_of(entry.deadline_ms) <= tick:
                    due.append(entry)
                else:
                    self._insert(entry)
        self._now_tick = target
        return due

    @property
    def next_deadline_ms(self) -> int | None:
        """When `advance` may next have something to do; None while no timer is armed."""
        heap = self._due_slots
        while heap:
            tick, level, span = heap[0]
            if self._slots[level, tick // span]:
                return tick * self._tick_ms
            heapq.heappop(heap)
            del self._slots[level, tick // span]
        return None

    def _tick_of(self, deadline_ms: int) -> int:
        return -(-deadline_ms // self._tick_ms)

    def _insert(self, entry: TimerEntry) -> None:
        tick = max(self._tick_of(entry.deadline_ms), self._now_tick)
        level, span = 0, 1
        while tick - self._now_tick >= span * self._wheel_size:
            level += 1
            span *= self._wheel_size
        key = (level, tick // span)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = {}
            heapq.heappush(self._due_slots, (key[1] * span, level, span))
        entry._place(slot)
