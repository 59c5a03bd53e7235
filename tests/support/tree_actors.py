"""Actors and trees that the engine's tests run in real processes."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from supervision.actor import Actor, Address, AskError, DisposableError, DisposableTimeout, on
from supervision.addresses import ActorName
from supervision.application import Application, LastSteps, OwnDirectories
from supervision.message import Message, Question
from supervision.spec import ChildSpec, Policy, ProgramAnswer, ProgramProbe, walk
from tests.support.incident_file import IncidentFile

HERE = "tests.support.tree_actors"


class Say(Question["Said"], frozen=True):
    text: str
    data: bytes = b""


class Said(Message, frozen=True):
    text: str
    pid: int = 0
    data: bytes = b""


class Tell(Message, frozen=True):
    """Tells `to` so many numbered messages, then answers with how long that took."""

    to: str
    count: int
    kind: str = "number"
    size: int = 0
    deadline: float = 10.0


class Number(Message, frozen=True):
    value: int
    data: bytes = b""


class Latest(Message, frozen=True):
    value: int
    coalesce: ClassVar[tuple[str, ...]] = ()


class GetSeen(Message, frozen=True):
    pass


class Seen(Message, frozen=True):
    numbers: list[int]
    latest: list[int]
    dead: list[str]
    hellos: list[str]
    started: float


class Do(Message, frozen=True):
    """Does something to itself."""

    what: str
    seconds: float = 0.0


class AskOther(Message, frozen=True):
    to: str
    question: str
    timeout: float = 5.0


class Dispose(Message, frozen=True):
    function: str
    seconds: float = 0.0
    deadline: float = 5.0


class Echo(Actor):
    """Answers, tells, asks, and breaks on order."""

    def __init__(self, start_seconds: float = 0.0, **_: Any) -> None:
        super().__init__()
        self._start_seconds = start_seconds
        self._seen = Seen([], [], [], [], time.time())
        self._leak: list[bytes] = []

    async def on_start(self) -> None:
        await asyncio.sleep(self._start_seconds)

    async def on_stop(self) -> None:
        (Path(self.context) / "stops").open("a").write(self.name + "\n")
        if self.name.startswith("stubborn"):
            await asyncio.sleep(60)

    async def on_hello(self, name: str) -> None:
        self._seen.hellos.append(name)

    def on_dead_letter(self, name: str, message: Message, reason: str) -> None:
        self._seen.dead.append(f"{name} {type(message).__name__} {reason}")

    @on(Say)
    def on_say(self, message: Say, sender: Address) -> Said:
        return Said(message.text, os.getpid(), message.data)

    @on(Number)
    def on_number(self, message: Number, sender: Address) -> None:
        self._seen.numbers.append(message.value)

    @on(Latest)
    def on_latest(self, message: Latest, sender: Address) -> None:
        self._seen.latest.append(message.value)

    @on(GetSeen)
    def on_get_seen(self, message: GetSeen, sender: Address) -> Seen:
        return self._seen

    @on(Tell)
    def on_tell(self, message: Tell, sender: Address) -> Said:
        started_at, data = time.monotonic(), bytes(message.size)
        for value in range(message.count):
            sent = Number(value, data) if message.kind == "number" else Latest(value)
            self.tell(ActorName(message.to), sent, deadline=message.deadline)
        return Said(str(time.monotonic() - started_at))

    @on(AskOther)
    async def on_ask_other(self, message: AskOther, sender: Address) -> Said:
        try:
            answer = await self.ask(ActorName(message.to), Say(message.question), timeout=message.timeout)
        except AskError as error:
            return Said(f"AskError {error}")
        return answer

    @on(Dispose)
    async def on_dispose(self, message: Dispose, sender: Address) -> Said:
        try:
            result = await self.disposable(
                f"{HERE}:{message.function}", {"seconds": message.seconds}, deadline=message.deadline
            )
        except DisposableTimeout as error:
            return Said(f"timeout {error.text}")
        except DisposableError as error:
            return Said(f"error {error.kind} {error.errno} {error.text}")
        return Said(repr(result))

    @on(Do)
    async def on_do_later(self, message: Do, sender: Address) -> None:
        if message.what == "exception in task":
            await asyncio.sleep(0)
            raise ZeroDivisionError("in a task")
        if message.what == "exception in timer":
            self.after(0.01, self._boom)
        else:
            self._do(message)

    def _do(self, message: Do) -> None:
        if message.what == "exception":
            raise ZeroDivisionError("in a handler")
        if message.what == "busy":
            end = time.monotonic() + message.seconds
            while time.monotonic() < end:
                pass
        elif message.what == "leak":
            while True:
                self._leak.append(os.urandom(1024 * 1024))
                time.sleep(0.005)
        elif message.what == "break the mailbox":
            self.port.inbox.flow.count = _fail  # type: ignore[attr-defined]
        elif message.what == "exit":
            os._exit(0)
        elif message.what == "tell what the other does not know":

            class Odd(Message, frozen=True):
                pass

            listener = ActorName("listener")
            self.tell(listener, Number(1))
            self.tell(listener, Odd())
            self.tell(listener, Number(2))

    def _boom(self) -> None:
        raise ZeroDivisionError("in a timer")


def _fail(*arguments: Any) -> None:
    raise ZeroDivisionError("in the mailbox")


class Leaving(Echo):
    """Passes a number on to `listener` and ends in the same step: with an exception an odd incarnation, else in
    order."""

    @on(Number)
    def on_number(self, message: Number, sender: Address) -> None:
        self.tell(ActorName("listener"), message)
        raise ZeroDivisionError("on purpose") if self.incarnation % 2 else SystemExit(3)


class OnDisk(Echo):
    """Looks at its disk, on its own loop, at its start and on order. A disk that is broken is left alone."""

    async def on_start(self) -> None:
        self._look()

    def _do(self, message: Do) -> None:
        if message.what == "look at the disk":
            self._look()
        else:
            super()._do(message)

    def _look(self) -> None:
        with suppress(OSError):
            os.stat(Path(self.context) / "state")


class Late(Echo):
    """Never comes into service."""

    async def on_start(self) -> None:
        await asyncio.sleep(60)


class Asking(Echo):
    """Needs an answer before it is in service."""

    async def on_start(self) -> None:
        await self.ask(ActorName("echo"), Say("?"), timeout=5)


def nap(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def status_of_a_program(seconds: float) -> str:
    """Its /proc/self/status."""
    return subprocess.run(("cat", "/proc/self/status"), capture_output=True, text=True, check=True).stdout


def fail(seconds: float) -> None:
    raise FileNotFoundError(2, "no such thing")


def fail_at_an_unreadable_name(seconds: float) -> None:
    raise PermissionError(1, "not permitted", os.fsdecode(b"/v/\xff"))


def unreadable_name(seconds: float) -> list[str]:
    return [os.fsdecode(b"/v/\xff")]


def die(seconds: float) -> None:
    os._exit(3)


def large(seconds: float) -> bytes:
    return bytes(3_000_000)


def pids(seconds: float) -> list[int]:
    return [os.getpid(), os.getppid()]


def _echo(name: str, **arguments: Any) -> ChildSpec:
    return ChildSpec(name=name, actor=f"{HERE}:Echo", arguments=arguments, feeders=(ActorName("listener"),))


QUICK = Policy(heartbeat_seconds=2.0, shutdown_seconds=1.0, start_seconds=2.0, max_restarts=20, memory_mib=150)
ONCE = Policy(max_restarts=0)
"""Of a root whose first failure ends the agent."""


def _application(run_dir: Path, *children: ChildSpec, **policies: Policy) -> Application:
    tree = ChildSpec(name="root", children=children)
    found = {name: QUICK for name, _, _ in walk(tree)}
    return Application(
        name="test",
        tree=tree,
        policies=found | policies,
        context=str(run_dir.parent),
        run_dir=run_dir,
        incidents=IncidentFile(run_dir.parent / "incidents"),
    )


def small(run_dir: Path) -> Application:
    """root: listener, echo, group (supervisor): echo/a, echo/b."""
    group = ChildSpec(name="group", children=(_echo("a"), _echo("b")))
    return _application(run_dir, _echo("listener"), _echo("echo"), group)


def united(run_dir: Path) -> Application:
    """`small`, where the children of the group are restarted together."""
    group = ChildSpec(name="group", children=(_echo("a"), _echo("b")))
    return _application(run_dir, _echo("echo"), group, group=Policy(strategy="one_for_all", heartbeat_seconds=2.0))


def leaving(run_dir: Path) -> Application:
    last = ChildSpec(name="leaving", actor=f"{HERE}:Leaving", feeders=(ActorName("listener"),))
    return _application(run_dir, _echo("listener"), _echo("echo"), last)


def locked_elsewhere(run_dir: Path) -> Application:
    """As `small`, with its lock beside the run directory."""
    return dataclasses.replace(small(run_dir), directories=OwnDirectories(run_dir.parent / "state"))


def on_disk(run_dir: Path) -> Application:
    """Two actors that use a directory beside the run directory, one that does not."""
    state = run_dir.parent / "state"
    state.mkdir(exist_ok=True)
    users = (ChildSpec(name=name, actor=f"{HERE}:OnDisk") for name in ("user", "other"))
    application = _application(run_dir, _echo("echo"), *users)
    return dataclasses.replace(application, directories=OwnDirectories(written=(str(state),)))


def with_last_steps(run_dir: Path) -> Application:
    """As `small`; once it is killed, `after` beside the run directory says whether it was locked then."""
    program = ("sh", "-c", 'ls "$1" > "$2"', "it's named so", str(run_dir), f"{run_dir.parent}/after")
    return dataclasses.replace(small(run_dir), at_end=LastSteps(when_killed=program))


def stubborn(run_dir: Path) -> Application:
    return _application(run_dir, _echo("echo"), _echo("stubborn"))


def asking(run_dir: Path) -> Application:
    slow = _echo("echo", start_seconds=0.2)
    return _application(run_dir, slow, ChildSpec(name="asking", actor=f"{HERE}:Asking"))


def late(run_dir: Path) -> Application:
    policy = Policy(start_seconds=0.3, restart="permanent", max_restarts=1)
    return _application(run_dir, _echo("echo"), ChildSpec(name="late", actor=f"{HERE}:Late"), late=policy, root=ONCE)


def default_policies(run_dir: Path) -> Application:
    standard = Policy()
    return _application(run_dir, _echo("listener"), _echo("echo"), listener=standard, echo=standard)


def brittle(run_dir: Path) -> Application:
    policy = Policy(max_restarts=2, period_seconds=60, backoff_seconds=0.01)
    return _application(run_dir, _echo("echo"), echo=policy, root=ONCE)


def programs(run_dir: Path) -> Application:
    """`server` listens after a moment and ignores SIGTERM when its arguments say so; `broken` does not exist."""
    socket = run_dir.parent / "server.sock"
    code = (
        "import os, socket, time; time.sleep(0.2); s = socket.socket(socket.AF_UNIX);"
        f" os.path.exists({str(socket)!r}) and os.unlink({str(socket)!r}); s.bind({str(socket)!r}); s.listen();"
        " print('listening', os.environ['GREETING'], flush=True); time.sleep(600)"
    )
    server = ChildSpec(
        name="server",
        program=(sys.executable, "-c", code),
        ready_socket=str(socket),
        log_file=str(run_dir.parent / "server.log"),
        environment={"GREETING": "hello"},
    )
    broken = ChildSpec(name="broken", program=("/does/not/exist",))
    once = Policy(restart="temporary")
    return _application(run_dir, _echo("echo"), server, broken, broken=once)


def status(run_dir: Path) -> Application:
    """`reader` is a program that writes its own status to `status`, and ends."""
    reader = ChildSpec(
        name="reader", program=("cat", "/proc/self/status"), log_file=str(run_dir.parent / "status"), environment={}
    )
    return _application(run_dir, _echo("echo"), reader, reader=Policy(restart="temporary"))


def has_file(path: str) -> ProgramAnswer:
    """The probe of `wedged`."""
    return ProgramAnswer(Path(path).exists())


def wedged(run_dir: Path) -> Application:
    """`server` is a program that answers as long as the file `answers` is there."""
    probe = ProgramProbe(
        function="tests.support.tree_actors:has_file",
        arguments={"path": str(run_dir.parent / "answers")},
        interval_seconds=0.2,
    )
    server = ChildSpec(
        name="server",
        program=("/bin/sh", "-c", "trap 'echo the stacks' USR1; while :; do sleep 0.05; done"),
        probe=probe,
        log_file=str(run_dir.parent / "server.log"),
    )
    return _application(run_dir, _echo("echo"), server)


class Server(Echo):
    """Answers each connection with its incarnation, on a port that a file names."""

    async def on_start(self) -> None:
        path = Path(self.context) / "port"
        port = int(path.read_text()) if path.exists() else 0
        socks = self.listen("tcp", lambda: [socket.create_server(("127.0.0.1", port))])
        path.write_text(str(socks[0].getsockname()[1]))
        await asyncio.start_server(self._answer_client, sock=socks[0])

    async def _answer_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(str(self.incarnation).encode())
        writer.close()


def server(run_dir: Path) -> Application:
    """`server` is down for two seconds after its second failure; its socket is kept."""
    spec = ChildSpec(name="server", actor=f"{HERE}:Server", keeps_sockets=True)
    policy = Policy(backoff_seconds=2.0)
    return _application(run_dir, spec, server=policy)


class Dying(Echo):
    """Ends in the middle of a question."""

    @on(Say)
    async def on_say(self, message: Say, sender: Address) -> Said:
        await asyncio.sleep(0.05)
        os._exit(9)


def patient(run_dir: Path) -> Application:
    """Nobody is replaced for being silent; `asking` dies when it is asked."""
    calm = Policy(heartbeat_seconds=60, max_restarts=20)
    dying = ChildSpec(name="asking", actor=f"{HERE}:Dying")
    return _application(run_dir, _echo("listener"), _echo("echo"), dying, listener=calm, echo=calm, asking=calm)


def tough(run_dir: Path) -> Application:
    """`small`, where nothing gives up."""
    group = ChildSpec(name="group", children=(_echo("a"), _echo("b")))
    tree = (_echo("listener"), _echo("echo"), group)
    lasting = Policy(max_restarts=10_000, heartbeat_seconds=2.0, shutdown_seconds=1.0, backoff_max_seconds=0.2)
    policies = dict.fromkeys(("root", "listener", "echo", "group", "group/a", "group/b"), lasting)
    return _application(run_dir, *tree, **policies)


def lasting(run_dir: Path) -> Application:
    return _application(run_dir, _echo("echo"), root=Policy(heartbeat_seconds=1.0))
