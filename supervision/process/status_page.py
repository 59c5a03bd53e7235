"""The shared status page: shared memory with one entry per actor, which the fork server reads without asking the actor.

The fork server makes it before the first fork. Only the entry's actor writes to it; the fork server only reads, and
clears it before a fork. So a hung actor still shows its current message and since when."""

from __future__ import annotations

import errno
import mmap

import msgspec

ENTRY_BYTES = 256
_NAME_AT, _NAME_BYTES = 128, 128
_BEAT, _BUSY, _ALLOWANCE = range(3)
_HANDLED, _DROPPED, _DEAD, _MAILBOX, _TASKS, _OUTGOING = range(3, 9)
_STARTED_AT = 9


class StatusReading(msgspec.Struct, frozen=True):
    """A snapshot of an entry."""

    heartbeat: float
    """See `StatusEntry.heartbeat`."""
    busy_since: float
    """The start of the current handler; 0: none runs."""
    message: str
    """Type of the current message, or of the last one."""
    handled: int
    dropped: int
    """Dropped because a queue was full, or by an injected fault."""
    dead_letters: int
    mailbox: int
    tasks: int
    """Running coroutines of handlers, timers and start_task."""
    outgoing: int
    """Messages waiting to be sent, to all receivers."""


class StatusPage:
    """All entries; made before the first fork."""

    def __init__(self, entries: int) -> None:
        self._memory = mmap.mmap(-1, entries * ENTRY_BYTES, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        self._free = list(range(entries - 1, -1, -1))

    def take(self) -> StatusEntry:
        """Take a free entry. Raises OSError if there is none."""
        if not self._free:
            raise OSError(errno.EAGAIN, "no entry of the status page is free")
        index = self._free.pop()
        start = index * ENTRY_BYTES
        self._memory[start : start + ENTRY_BYTES] = bytes(ENTRY_BYTES)
        return StatusEntry(self._memory, index)

    def give_back(self, status_entry: StatusEntry) -> None:
        self._free.append(status_entry.index)


class StatusEntry:
    """An actor's part of the status page."""

    def __init__(self, memory: mmap.mmap, index: int) -> None:
        self.index = index
        view = memoryview(memory)[index * ENTRY_BYTES : (index + 1) * ENTRY_BYTES]
        self._times = view[:80].cast("d")
        self._counts = view[:72].cast("Q")
        self._name = view[_NAME_AT : _NAME_AT + _NAME_BYTES]

    def beat(self, now: float) -> None:
        self._times[_BEAT] = now

    def start(self, name: bytes, now: float, allowance_seconds: float = 0.0) -> None:
        """A handler starts; `name` is the message type, made by `padded`. It may hold the actor for
        `allowance_seconds`, if that is more than its policy allows."""
        self._name[:] = name
        self._times[_ALLOWANCE] = allowance_seconds
        self._times[_STARTED_AT] = self._times[_BUSY] = now

    def end(self) -> None:
        self._times[_BUSY] = 0.0

    def count(self, counts: tuple[int, int, int, int, int, int]) -> None:
        """handled, dropped, dead letters, mailbox, tasks, outgoing."""
        for at, value in enumerate(counts, _HANDLED):
            self._counts[at] = value

    @property
    def heartbeat(self) -> float:
        """CLOCK_MONOTONIC seconds of the last sign of life; 0: none yet. It is read each second. The start of a step
        counts too: an actor with hundreds of due tasks sends its next heartbeat only after a step of each, and is not
        hung."""
        return max(self._times[_BEAT], self._times[_STARTED_AT])

    @property
    def busy_since(self) -> float:
        """The start of the current handler; 0: none runs."""
        return self._times[_BUSY]

    @property
    def allowance_seconds(self) -> float:
        """How long the current or last handler may hold the actor, if that is more than the policy allows."""
        return self._times[_ALLOWANCE]

    def read(self) -> StatusReading:
        name = bytes(self._name).rstrip(b"\0").decode(errors="replace")
        return StatusReading(self.heartbeat, self._times[_BUSY], name, *self._counts[_HANDLED : _OUTGOING + 1])


def padded(name: str) -> bytes:
    """A message type's name in the form for `StatusEntry.start`."""
    return name.encode(errors="replace")[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0")
