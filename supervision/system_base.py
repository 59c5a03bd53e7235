"""A Thespian system base on this engine: `ActorSystem(systemBase=NativeBase())` runs any plain Thespian actor.

The base starts its own fork server in a private directory; it ends with this process. What differs from Thespian's
bases: payloads are plain data, Thespian's messages, registered Messages, and objects with such attributes (no pickle),
an exception in a handler ends the actor (its parent gets ChildActorExited), and classes must be importable by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thespian.actors import ActorAddress, ActorSystemMessage, InvalidActorSpecification

from .actor import Actor, Address, on
from .application import Application
from .class_names import class_name, load
from .errors import AskError
from .fork_server.fork import set_parent_death_signal
from .fork_server.main import run
from .message import Message, Question
from .messaging.channel import Flusher
from .messaging.dead_letters import DEAD_LETTERS, DeadLetterRoute
from .messaging.inbox import Inbox, serve
from .messaging.links import Links
from .messaging.names import Names
from .messaging.outbox import QueuedMessage
from .messaging.payload import unwrap, wrap
from .messaging.wire import Frame, WireError, encode
from .process.timers import Period, seconds_of
from .protocol import ROOT, GetTree, Tree
from .spec import ChildSpec, Policy

_START_SECONDS = 20.0
_SEND_SECONDS = 10.0
_LINK_POLL_SECONDS = 0.001
_numbers = itertools.count(1)


class CreatePrimary(Question["Created"], frozen=True):
    """Asks the root to create an actor directly below it."""

    actor: str
    global_name: str = ""


class Created(Message, frozen=True):
    """The actor's start is ordered; it may not be in service yet."""

    name: str


class SystemRoot(Actor):
    """The parent of primary actors: Thespian's system address."""

    @on(CreatePrimary)
    def on_create_primary(self, message: CreatePrimary, sender: Address) -> Created:
        return Created(str(self.port.createActor(message.actor, None, message.global_name or None)))  # type: ignore[attr-defined]


class ExternalMailbox:
    """A mailbox outside the tree. Its loop runs only while one of its methods does."""

    def __init__(self, names: Names) -> None:
        self.name = f"external-{os.getpid()}-{next(_numbers)}"
        self.names = names
        self.loop = asyncio.new_event_loop()
        self.flusher = Flusher(self.loop)
        self._links = Links(self)
        self._dead_letters = DeadLetterRoute(self)
        self._mail: deque[Any] = deque()
        self._error: BaseException | None = None
        self._news = asyncio.Event()
        """There is mail, or the error."""
        self._inbox = Inbox(self)
        self._server = self.loop.run_until_complete(serve(self._inbox, self.flusher, names.listen(self.name, 1)))
        names.publish(self.name, 1)
        self._inbox.open_up()

    def close(self) -> None:
        self.names.forget(self.name, 1)
        self._server.close()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def tell(self, name: str, payload: Any) -> None:
        """Returns when the message is delivered, or its deadline has passed."""
        link = self._links.to(name)
        message = wrap(payload, objects=True)
        link.send(QueuedMessage(message, encode(self.name, message), self.loop.time() + _SEND_SECONDS))
        self._run_until(lambda: not link.waiting and not link.unsent, _SEND_SECONDS, poll=_LINK_POLL_SECONDS)

    def listen(self, timeout: float | None) -> Any:
        """The next payload, or None."""
        self._run_until(lambda: bool(self._mail), timeout)
        return self._mail.popleft() if self._mail else None

    def _run_until(self, condition: Callable[[], bool], timeout: float | None, poll: float = math.inf) -> None:
        """`poll`: seconds between two looks at the condition while nothing is new."""
        end = math.inf if timeout is None else self.loop.time() + timeout

        async def wait() -> None:
            while not (condition() or self._error) and (left := end - self.loop.time()) > 0:
                self._news.clear()
                pause = min(left, poll)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), pause if pause < math.inf else None)

        self.loop.run_until_complete(wait())
        if self._error is not None:
            raise self._error

    # -- events of inbox and links --------------------------------------------------------------------------------
    def dispatch(self, message: Any, sender: Address) -> None:
        try:
            self._mail.append(unwrap(message, objects=True))
            self._news.set()
        except WireError as error:
            self.count_refused(error)

    def count_refused(self, error: Exception) -> None:
        logging.getLogger(self.name).warning("connection refused: %s", error)

    def crash(self, message: str, error: BaseException) -> None:
        """The mailbox is broken: the program's call raises the error."""
        self._error = error
        self._news.set()

    def undelivered(self, name: str, entry: QueuedMessage, reason: str) -> None:
        if name != DEAD_LETTERS:
            self._dead_letters.send(Address(name), unwrap(entry.message, objects=True))

    def answered(self, name: str, frame: Frame) -> None:
        """This endpoint asks no questions."""

    def connection_closed(self, name: str, kept: set[int]) -> None:
        """This endpoint asks no questions."""


class NativeBase:
    """The system base of Thespian's ActorSystem."""

    def __init__(self, run_dir: Path | None = None, preload: tuple[str, ...] = ()) -> None:
        """Starts the fork server. Raises AskError when it does not come up."""
        self._private = None if run_dir else tempfile.mkdtemp(prefix="thespian-")
        self._run_dir = run_dir or Path(str(self._private))
        # -P: the working directory is on its path only if it is on ours
        arguments = [
            sys.executable,
            "-P",
            "-m",
            "supervision.system_base",
            str(self._run_dir),
            str(os.getpid()),
            *preload,
        ]
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._fork_server = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": path})
        self._names = Names(self._run_dir / "names")
        self._wait_for_root()
        self._endpoint = ExternalMailbox(self._names)

    def _wait_for_root(self) -> None:
        from .client import Client

        client, end = Client(self._run_dir), time.monotonic() + _START_SECONDS
        try:
            while True:
                try:
                    if client.ask(GetTree(memory=False), Tree, timeout=1.0).state == "ready":
                        return
                except AskError:
                    if self._fork_server.poll() is not None or time.monotonic() > end:
                        self.shutdown()
                        raise
                time.sleep(0.005)
        finally:
            client.close()

    # -- Thespian's interface -------------------------------------------------------------------------------------
    def newPrimaryActor(
        self, actorClass: type | str, requirements: Any, globalName: str | None, source: Any
    ) -> Address:
        """The new actor, or the present one with the global name. Raises ImportError, InvalidActorSpecification if
        there is no such class."""
        from .client import Client

        if globalName and self._names.identity(globalName):
            return Address(globalName)
        actor = actorClass if isinstance(actorClass, str) else class_name(actorClass).replace(":", ".")
        try:
            load(class_name(actor))
        except (AttributeError, ValueError) as error:
            raise InvalidActorSpecification(actor, str(error)) from None
        client = Client(self._run_dir)
        try:
            return Address(client.ask(CreatePrimary(actor, globalName or ""), Created, name=ROOT).name)
        finally:
            client.close()

    def tell(self, address: ActorAddress, message: Any) -> None:
        self._endpoint.tell(str(address.addressDetails), message)

    def listen(self, timeout: Period | None = None) -> Any:
        return self._endpoint.listen(None if timeout is None else seconds_of(timeout))

    def ask(self, address: ActorAddress, message: Any, timeout: Period | None = None) -> Any:
        """The next message that is not Thespian's own, such as a late DeadEnvelope; None after `timeout`."""
        self.tell(address, message)
        end = None if timeout is None else time.monotonic() + seconds_of(timeout)
        while True:
            answer = self.listen(None if end is None else max(0.0, end - time.monotonic()))
            if not isinstance(answer, ActorSystemMessage):
                return answer

    def external_clone(self) -> _Context:
        return _Context(self)

    def shutdown(self) -> None:
        """Stops every actor in order."""
        self._fork_server.terminate()
        try:
            self._fork_server.wait(30)
        except subprocess.TimeoutExpired:
            self._fork_server.kill()
            self._fork_server.wait()
        if hasattr(self, "_endpoint"):
            self._endpoint.close()
        os.close(self._names.fd)
        if self._private:
            shutil.rmtree(self._private, ignore_errors=True)


class _Context:
    """`ActorSystem.private()`: the same actors, with its own mailbox."""

    def __init__(self, base: NativeBase) -> None:
        self._base = base
        self._endpoint = ExternalMailbox(base._names)
        self.newPrimaryActor = base.newPrimaryActor

    tell, listen, ask = NativeBase.tell, NativeBase.listen, NativeBase.ask

    def exit_context(self) -> None:
        self._endpoint.close()


def main(arguments: list[str]) -> int:
    """The fork server of a base: run directory, pid of its owner, modules to preload."""
    run_dir, owner, *preload = arguments
    set_parent_death_signal(int(owner))
    tree = ChildSpec(name=ROOT, actor="supervision.system_base:SystemRoot")
    policies: dict[str, Policy] = {ROOT: Policy(shutdown_seconds=1.0)}
    return run(
        Application(
            name="thespian",
            tree=tree,
            policies=policies,
            preload=("supervision.system_base", *preload),
            run_dir=Path(run_dir),
            dynamic=True,
        )
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
