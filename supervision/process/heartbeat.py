"""The heartbeat of an actor's process: shows on the status page that its loop runs, with the counts of its messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NoReturn

from .. import logs
from ..actor import Address
from ..messaging.inbox import Inbox
from ..process_messages import ServiceState
from ..protocol import FORK_SERVER
from ..unwritten_files import SERVICE, UNWRITTEN
from .actor_runner import ActorRunner
from .descriptors import Descriptors
from .port import ActorPort
from .status_page import StatusEntry

HEARTBEAT_SECONDS = 2.0


class Heartbeat:
    """Beats each `period` seconds. `crash` ends the process when it has too few file descriptors."""

    def __init__(
        self,
        entry: StatusEntry,
        period: float,
        port: ActorPort,
        inbox: Inbox,
        runner: ActorRunner,
        crash: Callable[[str, BaseException], NoReturn],
    ) -> None:
        self._entry, self._period, self._crash = entry, period, crash
        self._port, self._inbox, self._runner = port, inbox, runner
        self._loop = asyncio.get_running_loop()
        self._descriptors = Descriptors()
        self._last_report: str | None = ""
        """What was reported last; None: this incarnation has reported nothing, and the last one's counts."""
        UNWRITTEN.clear()

    def connected(self) -> None:
        """The fork server can receive reports."""
        self._last_report = None

    def beat(self) -> None:
        """Beat now, and then periodically."""
        now = time.monotonic()
        self._entry.beat(now)
        self.report()
        self._tell_unwritten()
        logs.flush(due=True)
        if (error := self._descriptors.exhausted(now)) is not None:
            self._crash("", error)
        # at whole multiples of the period, so that all processes wake together and the processor sleeps in between
        self._loop.call_at(now - now % self._period + self._period, self.beat)

    def _tell_unwritten(self) -> None:
        """Tell what `supervise status` says of the files of this actor."""
        text, since = UNWRITTEN.report()
        if text != self._last_report:
            self._last_report = text
            self._port.actor_send(Address(FORK_SERVER), ServiceState(SERVICE, text, since, UNWRITTEN.remedy))

    def report(self) -> None:
        """Write the counts."""
        port, inbox = self._port, self._inbox
        counts = (
            inbox.handled,
            port.losses.dropped,
            port.losses.dead_letters,
            len(inbox),
            len(self._runner),
            port.waiting,
        )
        self._entry.count(counts)
