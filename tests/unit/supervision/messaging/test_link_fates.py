"""What becomes of each message of a link, while its receiver comes, goes, hangs and refuses: one fate, and in time."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from supervision.message import Message
from supervision.messaging.link import Link
from supervision.messaging.names import NoSuchActor, PeerRefused
from supervision.messaging.outbox import QueuedMessage
from supervision.messaging.wire import Ack
from tests.support.examples import examples

LATE_SECONDS = 0.2
"""A dead letter is at most so late: expiry is joined for 10 ms, and a try to connect takes up to 100 ms."""


class Numbered(Message, frozen=True):
    number: int


class Handle:
    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self._at, self.call, self.cancelled = at, call, False

    def when(self) -> float:
        return self._at

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """A clock that only the test moves. A connection is opened in the next turn."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, int, Handle]] = []
        self._order = itertools.count()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> Handle:
        handle = Handle(when, call)
        heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def call_later(self, seconds: float, call: Callable[[], None]) -> Handle:
        return self.call_at(self.now + seconds, call)

    async def create_unix_connection(self, make: Any, sock: Any) -> None:
        sock()

    def create_task(self, opening: Coroutine[Any, Any, None]) -> Any:
        def run() -> None:
            with suppress(StopIteration):
                opening.send(None)

        return self.call_later(0.0, run)

    @property
    def pending(self) -> int:
        return sum(not handle.cancelled for _, _, handle in self._timers)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while self._timers and self._timers[0][0] <= end:
            self.now, _, handle = heapq.heappop(self._timers)
            if not handle.cancelled:
                handle.call()
        self.now = end


class Connection:
    """The sender's end of a connection to one incarnation."""

    def __init__(self, world: World, *, fails: bool) -> None:
        self.world, self.is_open, self.unsent = world, True, False
        self._fails = fails
        self.here: list[bytes] = []

    def close(self) -> None:
        self.is_open = False

    def write(self, body: bytes) -> None:
        self.here.append(body)

    def __call__(self) -> None:
        if self._fails:
            raise OSError(12, "Cannot allocate memory")
        self.world.link.opened(self)  # type: ignore[arg-type]
        self.world.connections.append(self)


class World:
    """The process of the sender, and the names."""

    flusher = None

    def __init__(self) -> None:
        self.loop, self.names = Loop(), self
        self.state, self.pid = "missing", 10**9
        self.connections: list[Connection] = []
        self.bodies: dict[bytes, int] = {}
        self.deadlines: dict[int, float] = {}
        self.acknowledged: Counter[int] = Counter()
        self.dead: dict[int, list[tuple[str, float]]] = {}
        self.held_until: dict[int, float] = {}
        """When the connection ended over which a message was with a receiver: until then it has no other fate."""
        self.link = Link(self, "b", window=3)  # type: ignore[arg-type]

    def connect(self, name: str) -> Any:
        if self.state in ("up", "no memory"):
            return Connection(self, fails=self.state == "no memory"), self.pid
        raise {
            "missing": NoSuchActor(name),
            "gone": NoSuchActor(name, gone=True),
            "foreign": PeerRefused(name),
            "no descriptor": OSError(24, "Too many open files"),
        }[self.state]

    def undelivered(self, name: str, entry: QueuedMessage, reason: str) -> None:
        self.dead.setdefault(self.bodies[entry.body], []).append((reason, self.loop.now))

    def connection_closed(self, name: str, kept: set[int]) -> None: ...

    @property
    def connection(self) -> Connection | None:
        return next((one for one in self.connections if one.is_open), None)

    def send(self, seconds: float) -> None:
        number = len(self.bodies)
        body = b"%d" % number
        self.bodies[body], self.deadlines[number] = number, self.loop.now + seconds
        self.link.send(QueuedMessage(Numbered(number), body, self.deadlines[number]))

    def handle(self, count: int) -> None:
        if (found := self.connection) is not None:
            done, found.here = found.here[:count], found.here[count:]
            self.acknowledged.update(self.bodies[body] for body in done)
            self.link.acknowledged(found, Ack(len(done)))  # type: ignore[arg-type]

    def breaks(self, state: str) -> None:
        """The incarnation ends, and the name is in that state now; `up`: the next incarnation has it."""
        self.state, self.pid = state, self.pid + 1
        if (found := self.connection) is not None:
            found.is_open = False
            self.held_until.update((self.bodies[body], self.loop.now) for body in found.here)
            self.link.closed(found, None)  # type: ignore[arg-type]


STATES = ["up", "up", "missing", "gone", "foreign", "no descriptor", "no memory"]
STEPS = st.one_of(
    st.tuples(st.just("send"), st.sampled_from([0.5, 1.0, 10.0])),
    st.tuples(st.just("send"), st.sampled_from([0.5, 1.0, 10.0])),
    st.tuples(st.just("handle"), st.integers(1, 3)),
    st.tuples(st.just("breaks"), st.sampled_from(STATES)),
    st.tuples(st.just("advance"), st.sampled_from([0.0, 0.005, 0.3, 2.0])),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(STEPS, max_size=60), st.booleans())
def test_each_message_is_acknowledged_or_a_dead_letter_once_and_in_time(steps: list[Any], answers: bool) -> None:
    world = World()
    for what, value in steps:
        (world.loop.advance if what == "advance" else getattr(world, what))(value)
        assert world.loop.pending <= 2, "one timer for deadlines and one for the connection"
    if answers:
        world.state = "up"
        for _ in range(len(world.bodies) + 2):
            world.loop.advance(0.11)
            world.handle(3)
    world.loop.advance(20.0)
    held = {world.bodies[body] for body in (world.connection.here if world.connection else [])}
    for number in world.deadlines:
        fates = world.acknowledged[number] + len(world.dead.get(number, []))
        assert fates + (number in held) == 1, f"message {number}: {world.dead.get(number)}, held: {number in held}"
    assert world.link.waiting == 0
    assert not (answers and held)
    for number, letters in world.dead.items():
        for reason, at in letters:
            due = max(world.deadlines[number], world.held_until.get(number, 0.0))
            assert at <= due + LATE_SECONDS, f"{reason} after {at}"
    assert world.loop.pending == 0, "an idle link costs nothing"
