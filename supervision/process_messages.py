"""Messages about the life of processes: between the fork server, the supervisors and the actors' processes."""

from __future__ import annotations

import os
from typing import ClassVar, Final, Literal, NamedTuple

from .addresses import ActorName
from .message import Message, Question
from .protocol import Done

EXIT_EXCEPTION = 70
"""Exit code of an actor whose handler raised."""
EXIT_ORPHANED = 71
"""Exit code of an actor whose fork server has ended."""
EXIT_ESCALATED = 75
"""Exit code of a supervisor that escalates: its children were restarted too often."""

Cause = Literal[
    "exit",
    "signal",
    "exception",
    "hang",
    "not_serving",
    "memory",
    "start_timeout",
    "stopped",
    "restarting",
    "parent",
    "fork_server",
    "run_dir_removed",
    "name_removed",
]
BY_ORDER: Final[tuple[Cause, ...]] = ("stopped", "restarting", "parent", "fork_server")
"""The causes of ends that another process ordered: they are no incidents."""
FOUND: Final[tuple[Cause, ...]] = (
    "hang",
    "not_serving",
    "memory",
    "start_timeout",
    "name_removed",
    "run_dir_removed",
)
"""The causes that the fork server finds: the first line of their details is its own."""


class Hello(Message, frozen=True):
    """An actor has started: the receiver sends it the current state again."""

    name: ActorName
    incarnation: int
    coalesce: ClassVar[tuple[str, ...]] = ("name",)


# -- supervisor to fork server ----------------------------------------------------------------------------------------
class Stop(Message, frozen=True):
    """End the process of `name`: send ActorExitRequest, then SIGKILL after `budget` seconds (0: at once). When a
    supervisor is killed, its subtree ends with it. Answered with Exited, also if there is no such process.

    With the cause `start_timeout`, only if it is not in service, which Started answers; while it starts, the fork
    server's own deadline ends it."""

    name: str
    budget: float
    cause: Cause = "stopped"


class DiedOnInput(Message, frozen=True):
    """The last incarnation died on a recorded input, which is not yet in quarantine. The quarantine bounds such deaths,
    so the supervisor does not count this one. An actor sends it to the fork server, which forwards it to the
    supervisor."""

    name: str = ""
    """The name of the actor; set by the fork server for the supervisor."""


# -- fork server to supervisor ----------------------------------------------------------------------------------------
class Started(Message, frozen=True):
    """The child is in service: its on_start has ended and its name means the new incarnation."""

    name: str
    incarnation: int
    pid: int
    seconds: float
    """From the order to fork until in service."""


class Exited(Message, frozen=True):
    """A child's process has ended and was reaped. An order to stop a process that has ended, or to start one while the
    whole tree stops, is answered with it, too."""

    name: str
    incarnation: int
    """A supervisor counts one end of each."""
    pid: int
    """0: it never ran, or this answers an order."""
    status: int
    """As os.waitpid gives it."""
    cause: Cause
    """The cause of the end, as far as the fork server knows; `stopped` if its supervisor ordered it."""
    message: str = ""
    """Type of the current message, or ''."""
    detail: str = ""
    """Traceback, hang stack, or memory figures; never a message body."""
    uptime: float = 0.0
    memory_bytes: int = 0
    """The most memory that it had, if only its growth tells whether an input is to blame: it was above its ceiling,
    or others than the fork server, such as the kernel's OOM killer, sent SIGKILL, or a signal had stopped it. 0 for
    another end."""


class LastEnd(NamedTuple):
    """How the last incarnation of an actor ended."""

    by_order: bool = False
    """It was stopped, or killed since its supervisor, or the fork server, had ended."""
    memory_bytes: int = 0
    """As in `Exited`."""


BY_ITSELF: Final = LastEnd()
ORDERED_END: Final = LastEnd(by_order=True)


def ended_orderly(exited: Exited) -> bool:
    """Whether a child ended by itself with exit code 0: OTP's reason `normal`."""
    return exited.cause == "exit" and os.WIFEXITED(exited.status) and os.WEXITSTATUS(exited.status) == 0


def never_ran(exited: Exited) -> bool:
    """Whether the host had no process, descriptor or memory left for the child: its fork failed."""
    return exited.pid == 0 and exited.cause == "exit" and os.WEXITSTATUS(exited.status) == EXIT_EXCEPTION


def gave_up(exited: Exited) -> bool:
    """Whether a supervisor ended because its children were restarted too often."""
    return os.WIFEXITED(exited.status) and os.WEXITSTATUS(exited.status) == EXIT_ESCALATED


class ReachedMaxRestartIntensity(Question[Done], frozen=True):
    """Sent to the fork server: a supervisor has stopped its children and now ends with EXIT_ESCALATED. OTP's term."""

    reason: str


# -- between the fork server and the processes it forked --------------------------------------------------------------
class Ready(Message, frozen=True):
    """Actor to fork server: on_start has ended, and the name means this incarnation."""


class ServiceState(Message, frozen=True):
    """Actor to fork server: a required outside service does not answer or, with an empty `text`, answers."""

    service: str
    text: str = ""
    since: float = 0.0
    """CLOCK_MONOTONIC seconds. If an earlier incarnation has reported the same trouble, its time counts."""
    remedy: str = ""
    """What mends it, preferably a command; '' if the text says all that is known."""


class Terminate(Message, frozen=True):
    """Fork server to actor: end in order. After `budget` seconds it is killed."""

    budget: float


DISPOSABLE_GRACE_SECONDS: Final = 10.0
"""An actor waits this much longer for a DisposableResult than the order's deadline, which counts from its start."""


class RunDisposable(Question["DisposableResult"], frozen=True):
    """Actor to fork server: run `function` in a disposable process; answered with DisposableResult."""

    function: str
    arguments: bytes
    """msgpack of a map."""
    deadline: float
    """Seconds."""


class DisposableResult(Message, frozen=True):
    """The result of a disposable process."""

    result: bytes = b""
    """msgpack of the function's result if `kind` is ''."""
    kind: str = ""
    """Class name of the exception; `Died`: the process ended without a result; `Refused`: too many processes hang."""
    text: str = ""
    errno: int = 0
    timed_out: bool = False
    """It missed its deadline and was killed or abandoned."""


class CreateActor(Message, frozen=True):
    """Thespian's createActor: start the child of that name by its spec or, without a spec, an actor that lives until
    its parent ends. The sender is its parent."""

    name: str
    actor: str
    """`module:Class`."""


class Payload(Message, frozen=True):
    """A payload that is not a Message, from an actor written for plain Thespian (see `payload.py`)."""

    data: bytes
