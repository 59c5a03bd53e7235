"""Prefork warm-up: does in the fork server, before the first fork, what every actor does when it starts.

A page that a process writes to is no longer shared, and CPython writes to each function that it runs, to each type that
it instantiates, and to their caches. Much of that is written only once (attribute caches, specialised bytecode), so it
is written here, for all processes.

Switch: `warm_up` (memory_switches.py). It saves 10 MiB of the 152 of the whole tree (PSS, 22 actors, 10 pods, CPython
3.11), for some hundredths of a second at start.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

from ..actor import Actor, Address
from ..addresses import ActorName
from ..errors import AskError
from ..message import Message, type_name
from ..messaging import wire
from ..messaging.channel import Channel, Flusher
from ..messaging.inbox import Inbox, serve
from ..messaging.names import Names, NamingError
from ..messaging.uplink import Uplink
from ..messaging.wire import Frame
from ..process.actor_runner import ActorRunner
from ..process.incarnation import Incarnation
from ..process.port import ActorPort, MessageConnections
from ..process.status_page import StatusEntry, StatusPage
from ..process_messages import Hello, Ready
from ..protocol import GetMetrics
from .code_layout import bring_together, profiled
from .function_layout import bring_functions_together
from .heap_fill import fill_heap
from .memory_switches import is_on

log = logging.getLogger("fork_server")
NAME: Final = ActorName("warm-up")
_ROUNDS: Final = 8
"""CPython specialises a function after about eight calls."""
_SECONDS: Final = 2.0


def warm_up(
    names: Names,
    status_page: StatusPage,
    prepare: Iterable[Callable[[], None]] = (),
    hot_functions: Iterable[str] = (),
) -> None:
    """Run through an actor's life. Leaves no socket open; a failure is logged and costs only memory.

    `prepare`: the application's own preparations. `hot_functions`: as in Application."""
    wire.prepare()
    try:
        for function in prepare:  # not profiled: its code does not run again and would only take space
            function()
        _forget_types()
        if is_on("warm_up") and is_on("code_layout"):
            ran = profiled(lambda: asyncio.run(_run_sample_actor(names, status_page)))
            fill_heap()  # else the copies would lie in free slots, all over the heap
            bring_together([*hot_functions, *ran])
            bring_functions_together([*hot_functions, *ran])
        for _ in range(_ROUNDS if is_on("warm_up") else 0):
            asyncio.run(_run_sample_actor(names, status_page))
    except (OSError, NamingError, AskError, TimeoutError) as error:
        log.warning("no prefork warm-up, the actors take more memory: %s", error)


def _forget_types() -> None:
    """Empty the attribute cache, which is full of entries that are not used again: replacing one writes to two
    names."""
    forget = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
    forget()


async def _run_sample_actor(names: Names, status_page: StatusPage) -> None:
    """The calls that every actor makes."""
    status_entry = status_page.take()
    server_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sample = _SampleActor(names, status_entry)
        await sample.uplink.open(child_end)
        server = await serve(sample.inbox, sample.flusher, names.listen(NAME, 1))
        names.publish(NAME, 1)
        sample.uplink.send(Ready())
        sample.inbox.open_up()
        async with asyncio.timeout(_SECONDS):
            await sample.act()
        server.close()
    finally:
        server_end.close()
        names.forget(NAME, 1)
        status_page.give_back(status_entry)
    await asyncio.sleep(0.0)


class _Inbox(Inbox):
    """Remembers its connections, to close them."""

    def opened(self, channel: Channel) -> bool:
        self.latest = channel
        return super().opened(channel)


class _SampleActor:
    """Stands in for an actor's process."""

    name: str = NAME

    def __init__(self, names: Names, status_entry: StatusEntry) -> None:
        self.loop = asyncio.get_running_loop()
        self.flusher, self._status_entry = Flusher(self.loop), status_entry
        runner = self._runner = ActorRunner(self.flusher, status_entry, self)
        self.inbox, self.uplink = _Inbox(self), Uplink(self)
        self._port = ActorPort(NAME, Incarnation(1), None, runner, MessageConnections(names, self.inbox, self.uplink))
        self.actor = Actor()
        self._port.attach(self.actor)

    async def act(self) -> None:
        """Send itself a question and a message, set a timer, start a task, format a log line."""
        self._status_entry.beat(self.loop.time())
        self._status_entry.count((0, 0, 0, 0, 0, 0))
        fired = asyncio.Event()
        self.actor.after(0.0, fired.set)
        repeated = self.actor.every(60.0, fired.set, jitter=0.1)
        self.actor.tell(NAME, Hello(NAME, 1))
        self.actor.start_task(asyncio.sleep(0.0), "task")
        await self._port.ask(NAME, GetMetrics(), _SECONDS)
        await fired.wait()
        repeated.cancel()
        record = self.actor.log.makeRecord(NAME, logging.INFO, __file__, 1, "%s", (NAME,), None)
        for handler in logging.getLogger().handlers:
            handler.format(record)
        self.inbox.flush_acknowledgements()
        self.inbox.latest.abort()

    # -- callbacks of the parts of a process ----------------------------------------------------------------------
    def dispatch(self, message: Any, sender: Address) -> None:
        self._runner.call(lambda: self.actor.receiveMessage(message, sender), type_name(type(message)))

    def answered(self, name: str, frame: Frame) -> None:
        self._port.answered(name, frame)

    def count_refused(self, error: Exception) -> None:
        pass

    def ordered(self, message: Message) -> None:
        pass

    def orphaned(self) -> None:
        pass

    def crash(self, message: str, error: BaseException) -> NoReturn:
        raise error

    def exit(self, status: int) -> NoReturn:
        raise SystemExit(status)
