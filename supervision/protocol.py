"""What the engine's own parts say to each other: fork server, supervisors, actors, command line.

Every one is an ordinary message on the ordinary wire. `FORK_SERVER` is the name of the fork server process, `ROOT` that
of the root supervisor."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from .addresses import ActorName
from .message import Message, Question

FORK_SERVER = ActorName("fork_server")
ROOT = ActorName("root")

EXIT_EXCEPTION = 70
"""Exit code of an actor whose handler raised."""
EXIT_ORPHANED = 71
"""Exit code of an actor that found its fork server gone."""
EXIT_ESCALATED = 75
"""Exit code of a supervisor that gave up: its children were restarted too often."""

Cause = Literal[
    "exit",
    "signal",
    "exception",
    "hang",
    "memory",
    "start_timeout",
    "stopped",
    "restarting",
    "parent",
    "fork_server",
    "run_dir_removed",
]


class Hello(Message, frozen=True):
    """An actor has started and wants the state that the receiver feeds it."""

    name: ActorName
    incarnation: int
    coalesce: ClassVar[tuple[str, ...]] = ("name",)


class GetMetrics(Question["MetricsSnapshot"], frozen=True):
    """Asks any actor for its numbers; answered with MetricsSnapshot."""


class Sample(msgspec.Struct, frozen=True):
    """One series. For a histogram `value` is the sum; `counts`: one entry per bound, one for +Inf (not running)."""

    kind: Literal["counter", "gauge", "histogram"]
    name: str
    labels: dict[str, str]
    value: float
    bounds: list[float] = []
    counts: list[int] = []


class MetricsSnapshot(Message, frozen=True):
    """The numbers of one incarnation of an actor."""

    actor: str
    incarnation: int
    samples: list[Sample]


# -- supervisor to fork server ----------------------------------------------------------------------------------------
class Stop(Message, frozen=True):
    """End the process of `name`: ask with ActorExitRequest, SIGKILL after `budget` seconds (0: at once). Its subtree,
    if it is a supervisor that is killed, is ended with it."""

    name: str
    budget: float
    cause: Cause = "stopped"


# -- fork server to supervisor ----------------------------------------------------------------------------------------
class Started(Message, frozen=True):
    """The child is in service: its on_start has ended and its name means the new incarnation."""

    name: str
    incarnation: int
    pid: int
    seconds: float
    """From the order to fork until in service."""


class Exited(Message, frozen=True):
    """A child's process has ended and was reaped."""

    name: str
    incarnation: int
    pid: int
    status: int
    """As os.waitpid gives it."""
    cause: Cause
    """What ended it, as far as the fork server knows; `stopped` when its supervisor ordered it."""
    message: str = ""
    """Type of the message in hand, or ''."""
    detail: str = ""
    """Traceback, hang stack, or memory figures; never a message body."""
    uptime: float = 0.0


class Escalated(Question["Done"], frozen=True):
    """A supervisor gives up: it has stopped its children and now ends with EXIT_ESCALATED. Told to the fork server."""

    reason: str


# -- asked of the fork server by the command line, or by anybody ------------------------------------------------------
State = Literal["down", "starting", "running", "stopping"]
Fault = Literal["crash", "exit", "exception", "hang", "stop", "leak", "slow", "drop"]


class ActorState(msgspec.Struct, frozen=True, kw_only=True):
    """What the fork server knows of one name of the tree, without asking it."""

    name: str
    parent: str
    """Name of its supervisor; FORK_SERVER for the root."""
    kind: Literal["supervisor", "actor", "program"]
    state: State
    """`down`: no process; its supervisor waits before it starts it again, or will not."""
    pid: int = 0
    incarnation: int = 0
    restarts: int = 0
    """Since the fork server started."""
    uptime: float = 0.0
    """Seconds since this incarnation was forked."""
    memory_bytes: int = 0
    """As it counts towards the ceiling; 0 when not measured yet."""
    mailbox: int = 0
    """Messages waiting in the actor, as of its last heartbeat."""
    heartbeat_age: float = 0.0
    """Seconds since its last heartbeat."""
    last_incident: str = ""
    """Cause and age in words, '' when there was none."""
    actor: str = ""
    """Its class as `module:Class`, or the program."""
    message: str = ""
    """Type of the message that is being handled, or name of the function that runs; '' when none is."""
    busy_seconds: float = 0.0
    """For how long that has been so."""
    handled: int = 0
    """Messages, by this incarnation, as of its last heartbeat; so the next four."""
    dropped: int = 0
    dead_letters: int = 0
    tasks: int = 0
    """Coroutines that have not ended."""
    outgoing: int = 0
    """Messages that wait to be sent."""


class GetTree(Question["Tree"], frozen=True):
    """Asks the fork server for the tree; answered with Tree at once, whatever the actors do."""

    memory: bool = True
    """False: `memory_bytes` may be of any earlier time, or 0. To look costs a millisecond for each actor."""


class Tree(Message, frozen=True, kw_only=True):
    """The whole tree, parents before their children, siblings in start order."""

    pid: int
    """Of the fork server."""
    uptime: float
    state: Literal["starting", "ready", "degraded", "stopping"]
    """`ready`: every actor that is to run is in service. `starting`: not yet for the first time."""
    actors: list[ActorState]
    disposables: int = 0
    """Disposable processes that run."""
    abandoned: int = 0
    """Processes, disposable or not, that SIGKILL did not end: they wait in the kernel."""
    log_file: str = ""
    """Where the log goes besides stderr, '' for nowhere."""
    incident_file: str = ""
    policy_file: str = ""


class Shutdown(Question["Done"], frozen=True):
    """Asks the fork server to stop the whole agent in order, as SIGTERM does; answered with Done when it has begun."""


class RollingRestart(Question["Done"], frozen=True):
    """Asks the fork server to restart these actors, because what they were started with has changed.

    Each is asked to end, and its supervisor starts it again at once; that does not count as a failure. Answered with
    Done.
    """

    names: tuple[str, ...]


class Inject(Question["Done"], frozen=True, kw_only=True):
    """Asks the fork server to injure an actor; answered with Done. What it cannot do itself it hands on to the
    actor."""

    name: str
    fault: Fault
    seconds: float = 0.0
    """How long it lasts (hang, stop, leak, slow, drop); 0: until the actor is replaced."""
    rate: float = 0.0
    """leak: MiB a second. drop: share of messages, 0 to 1. slow: seconds that each handler is delayed."""
    status: int = 1
    """exit: the exit code."""


class SetLogLevel(Question["Done"], frozen=True):
    """Changes the log verbosity of one actor until it is replaced; answered with Done."""

    verbosity: int


class Split(msgspec.Struct, frozen=True):
    """Of the log, what is no error goes to stdout, held back up to `buffer_bytes` bytes for `flush_seconds` at most."""

    buffer_bytes: int = 0
    flush_seconds: float = 5.0


class SetLogging(Message, frozen=True):
    """Tells the fork server to log in this way from now on. It tells every actor, and new ones inherit."""

    verbosity: int
    form: Literal["text", "json"] = "text"
    vmodule: tuple[tuple[str, int], ...] = ()
    """(pattern, verbosity): see logs.configure."""
    split: Split | None = None


class Done(Message, frozen=True):
    """The order was taken, or why it was not."""

    error: str = ""


# -- between the fork server and the processes it forked --------------------------------------------------------------
class Ready(Message, frozen=True):
    """Actor to fork server: on_start has ended, and the name means this incarnation."""


class Leave(Message, frozen=True):
    """Fork server to actor: end in an orderly way. After `budget` seconds it is killed."""

    budget: float


class RunDisposable(Question["DisposableResult"], frozen=True):
    """Actor to fork server: run `function` in a process of its own; answered with DisposableResult."""

    function: str
    arguments: bytes
    """msgpack of a map."""
    deadline: float
    """Seconds."""


class DisposableResult(Message, frozen=True):
    """What became of a disposable process."""

    result: bytes = b""
    """msgpack of what the function returned, when `kind` is ''."""
    kind: str = ""
    """Class name of what it raised; `Died` when the process ended without a result; `Refused` when too many hang."""
    text: str = ""
    errno: int = 0
    timed_out: bool = False
    """It passed its deadline and was killed, or abandoned."""


class CreateActor(Message, frozen=True):
    """Thespian's createActor: start the child of that name, whose spec was known before the first fork, or, where there
    is none, an actor that lives until its parent ends. The sender is its parent."""

    name: str
    actor: str
    """`module:Class`."""


class Payload(Message, frozen=True):
    """Something that is not a Message, sent by an actor written for plain Thespian (see `payload.py`)."""

    data: bytes
