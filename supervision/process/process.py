"""The actor's process: its start, its message loop, its end. Entered right after the fork."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from typing import Any, NoReturn

from thespian.actors import ActorExitRequest

from .. import logs
from ..actor import Actor, Address, ChildExited
from ..addresses import ActorName
from ..class_names import load
from ..log_streams import flush_standard_streams
from ..message import Message, type_name
from ..messaging.channel import Flusher
from ..messaging.inbox import Inbox, serve
from ..messaging.payload import unwrap
from ..messaging.uplink import Uplink
from ..messaging.wire import WireError
from ..process_messages import EXIT_EXCEPTION, EXIT_ORPHANED, Exited, Hello, Payload, Ready, Terminate
from ..protocol import FORK_SERVER, Inject
from .actor_runner import ActorRunner, is_logged, kind_of
from .heartbeat import Heartbeat
from .hello_sender import HelloSender
from .injected_faults import InjectedFaults
from .launch import Launch, make_actor
from .port import ActorPort, MessageConnections

_FLUSH_SECONDS = 0.5
_FIRST_RELEASE_SECONDS, _RELEASE_SECONDS = 15.0, 300.0
_labels: dict[type, str] = {}
"""The labels of message types on the status page."""


def run_actor(launch: Launch) -> NoReturn:
    """Run the actor until it ends; never returns."""
    launch.blackbox.arm()
    try:
        _run(Process(launch).run())
    except BaseException as error:  # noqa: BLE001 - whatever it is, it ends the process and is on record
        launch.blackbox.record("", error)
    logs.flush()
    os._exit(EXIT_EXCEPTION)


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run, but without a handler of SIGINT, and without cleanup, because the process ends anyway. So it
    writes to fewer of the pages that are shared with the fork server."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(main)


class Process:
    """An incarnation of an actor."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.name = launch.name
        self._injected = InjectedFaults(self._message_lost)
        self._hello_sender: HelloSender | None = None
        """None before the start, and for an actor that is not an `actor.Actor`."""
        self._exiting = False
        self._log = logging.getLogger(launch.name)

    # -- start and stop --------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Start, then serve until the process ends."""
        launch = self._launch
        self.loop = asyncio.get_running_loop()
        self.flusher = Flusher(self.loop)
        self._runner = ActorRunner(self.flusher, launch.status_entry, self, self._slow)
        context = load(launch.refresh)(launch.context) if launch.refresh else launch.context
        name = ActorName(launch.name)
        self._inbox, self._uplink = Inbox(self), Uplink(self)
        self._port = ActorPort(
            name,
            launch.process,
            context,
            self._runner,
            MessageConnections(launch.names, self._inbox, self._uplink),
            dynamic=launch.dynamic,
        )
        self._heartbeat = Heartbeat(
            launch.status_entry, launch.heartbeat_seconds, self._port, self._inbox, self._runner, self.crash
        )
        self._heartbeat.beat()
        try:
            await self._start()
        except BaseException as error:  # noqa: BLE001 - let it crash
            self._runner.failed("on_start", error)
        await asyncio.Event().wait()

    async def _start(self) -> None:
        launch = self._launch
        await self._uplink.open(launch.uplink)
        self._heartbeat.connected()
        self.actor = make_actor(launch)
        self._port.attach(self.actor)
        self._server = await serve(self._inbox, self.flusher, launch.names.listen(launch.name, launch.incarnation))
        if isinstance(self.actor, Actor):
            await self.actor.on_start()
        launch.names.publish(launch.name, launch.incarnation)
        self._uplink.send(Ready())
        if isinstance(self.actor, Actor):
            hello = Hello(self._port.name, launch.incarnation)
            self._hello_sender = HelloSender(hello, launch.feeders, self.actor.tell, self.loop.call_later)
            self._hello_sender.send()
        self._inbox.open_up()
        self.loop.call_later(_FIRST_RELEASE_SECONDS, self._release_memory)

    def _release_memory(self) -> None:
        self._launch.release_memory()
        self.loop.call_later(_RELEASE_SECONDS, self._release_memory)

    def crash(self, message: str, error: BaseException) -> NoReturn:
        """Let it crash: record the reason, end the process."""
        self._launch.blackbox.record(message, error)
        self._log.error("crashed on %s", message or "no message", exc_info=error)
        self.exit(EXIT_EXCEPTION)

    def exit(self, status: int) -> NoReturn:
        """End the process now. As in OTP, what it has told before that is sent, as far as the kernel takes it at once
        and its receivers are connected; and what it has handled, the current message included, is not sent again."""
        self._heartbeat.report()
        self._inbox.flush_acknowledgements()
        self.flusher.flush()
        logging.shutdown()
        flush_standard_streams()
        os._exit(status)

    def _slow(self, label: str, seconds: float) -> None:
        self._port.count("actor_slow_handlers_total", message=kind_of(label))
        if is_logged(seconds):
            self._log.warning("%s blocked the actor for %.1f s", label, seconds)

    def orphaned(self) -> None:
        """The fork server has ended. The kernel kills its children; this covers the case that it does not."""
        self.exit(EXIT_ORPHANED)

    async def _leave(self) -> None:
        if isinstance(self.actor, Actor):
            await self.actor.on_stop()
        end = self.loop.time() + _FLUSH_SECONDS
        self._inbox.flush_acknowledgements()
        # no event reports that the kernel's buffers are empty
        while self._port.unsent and self.loop.time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        raise SystemExit(0)

    # -- messages in ----------------------------------------------------------------------------------------------
    def dispatch(self, message: Any, sender: Address) -> None:
        """Hand a message to the actor."""
        kind = type(message)
        label = _labels.get(kind) or _labels.setdefault(kind, type_name(kind))
        self._runner.call(lambda: self._receive(message, sender), label)
        if kind is ActorExitRequest:
            self._start_leaving()

    def _receive(self, message: Any, sender: Address) -> Any:
        if not self._injected.intercept(message):
            return None
        if type(message) is Payload:
            try:
                message = unwrap(message, objects=self._launch.dynamic)
            except WireError as error:
                self.count_refused(error)
                return None
            if type(message) is ActorExitRequest:
                # sent by another actor: this is the last message handled
                self._inbox.shut()
                self.loop.call_soon(self._start_leaving)
        return self.actor.receiveMessage(message, sender)

    def _message_lost(self) -> None:
        self._port.message_lost()
        if self._hello_sender is not None:
            self._hello_sender.message_lost()

    def _start_leaving(self) -> None:
        if not self._exiting:
            self._exiting = True
            self._runner.task(self._leave(), "on_stop")

    def ordered(self, message: Message) -> None:
        """Handle a message of the fork server. Orders to the process itself bypass the mailbox."""
        if isinstance(message, Terminate):
            self.dispatch(ActorExitRequest(), Address(FORK_SERVER))
        elif isinstance(message, Inject):
            self._runner.call(lambda: self._injected.order(message), type_name(Inject))
        elif isinstance(message, Exited):
            self._inbox.put(ChildExited(message), Address(FORK_SERVER))
        else:
            self._inbox.put(message, Address(FORK_SERVER))

    def count_refused(self, error: Exception) -> None:
        """Count a connection that was dropped because of its data or its user."""
        self._log.warning("connection refused: %s", error)
        self._port.count("actor_refused_connections_total")

    def answered(self, name: str, frame: Any) -> None:
        """Handle an answer of the fork server."""
        self._port.answered(name, frame)
