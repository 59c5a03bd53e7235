"""The messages with which the command line, or an actor, asks the fork server or any actor: for the tree, for metrics,
for a fault, for a stop.

They are ordinary messages on the ordinary wire. `FORK_SERVER` is the name of the fork server process, `ROOT` the
name of the root supervisor. A type's name on the wire has its module: a class that moves is unknown to a command line
of another version. Messages that stay inside one agent are in `process_messages.py`."""

from __future__ import annotations

from typing import Literal

import msgspec

from .addresses import ActorName
from .message import Message, Question

FORK_SERVER = ActorName("fork_server")
ROOT = ActorName("root")


class GetMetrics(Question["MetricsSnapshot"], frozen=True):
    """Asks any actor for its metrics; answered with MetricsSnapshot."""


class MetricSample(msgspec.Struct, frozen=True):
    """A series. For a histogram `value` is the sum; `counts`: one entry per bound, one for +Inf (not running)."""

    kind: Literal["counter", "gauge", "histogram"]
    name: str
    labels: dict[str, str]
    value: float
    bounds: list[float] = []
    counts: list[int] = []


class MetricsSnapshot(Message, frozen=True):
    """The metrics of one incarnation of an actor."""

    actor: str
    incarnation: int
    samples: list[MetricSample]


class GetMessageFlow(Question["MessageFlowCounts"], frozen=True):
    """Asks any actor for its counts of messages by sender and type; answered with MessageFlowCounts."""


class MessageCount(msgspec.Struct, frozen=True):
    """The messages of one type from one sender."""

    sender: str
    message: str
    """The name of the type, without its module."""
    count: int


class MessageFlowCounts(Message, frozen=True):
    """The messages that have reached one incarnation of an actor since its start, without answers."""

    actor: str
    incarnation: int
    counts: list[MessageCount]


# -- questions to the fork server, from the command line or any actor -------------------------------------------------
State = Literal["down", "starting", "running", "stopping"]
Fault = Literal["crash", "exit", "exception", "hang", "stop", "leak", "slow", "drop"]


class LastingFault(msgspec.Struct, frozen=True):
    """A fault that was injected into a process, and has not ended."""

    fault: Fault
    seconds_left: float | None = None
    """None: until the process is replaced."""


class ActorState(msgspec.Struct, frozen=True, kw_only=True):
    """The fork server's knowledge of one name in the tree, without asking the actor."""

    name: str
    parent: str
    """Name of its supervisor; FORK_SERVER for the root."""
    kind: Literal["supervisor", "actor", "program"]
    state: State
    """`down`: no process; its supervisor waits before it restarts it, or does not restart it."""
    pid: int = 0
    incarnation: int = 0
    restarts: int = 0
    """Since the fork server started."""
    uptime: float = 0.0
    """Seconds since this incarnation was forked."""
    memory_bytes: int = 0
    """The figure that is compared with the ceiling; 0: not measured yet."""
    mailbox: int = 0
    """Messages waiting in the mailbox, as of the last heartbeat."""
    heartbeat_age: float = 0.0
    """Seconds since its last heartbeat."""
    last_incident: str = ""
    """Cause and age in words, '' when there was none."""
    incident_age: float = 0.0
    """Seconds since then."""
    incidents: int = 0
    """Since the fork server started. A restart that was ordered, or of a group, is none."""
    gave_up: int = 0
    """For a supervisor: how often it gave up since the fork server started."""
    gave_up_age: float = 0.0
    """Seconds since it gave up last."""
    is_over: bool = False
    """It is down, and is not started again by its restart type."""
    ended_orderly: bool = False
    """Its last process ended by itself with exit code 0."""
    stopping_seconds: float = 0.0
    """How long it has been stopping."""
    actor: str = ""
    """Its class as `module:Class`, or the program."""
    message: str = ""
    """Type of the message being handled, or name of the running function; '' for none."""
    busy_seconds: float = 0.0
    """How long it has been handled or running."""
    handled: int = 0
    """Messages handled by this incarnation. This field and the next four are as of the last heartbeat."""
    dropped: int = 0
    dead_letters: int = 0
    tasks: int = 0
    """Running coroutines."""
    outgoing: int = 0
    """Messages waiting to be sent."""
    injected: list[LastingFault] = []
    """Without a stop, which `kill -CONT` may have ended."""


class GetTree(Question["Tree"], frozen=True):
    """Asks the fork server for the tree. Answered with Tree at once, even while actors hang."""

    memory: bool = True
    """Whether to read memory figures, which takes a millisecond per actor. False: `memory_bytes` may be old or 0."""


DISK = "disk"
"""The service of a `Trouble`: a disk of the agent's own hangs."""


class Trouble(msgspec.Struct, frozen=True):
    """An outside service that an actor needs does not answer."""

    service: str
    text: str
    seconds: float
    """For how long."""
    actor: str
    """The actor that reports it."""
    remedy: str = ""
    """What mends it, preferably a command; '' if the reporter knows none."""


class Tree(Message, frozen=True, kw_only=True):
    """The whole tree, parents before their children, siblings in start order."""

    pid: int
    """The pid of the fork server."""
    uptime: float
    state: Literal["starting", "ready", "degraded", "stopping"]
    """`ready`: every actor that should run is in service, and none has finally failed. `starting`: it has not been
    ready yet."""
    actors: list[ActorState]
    disposables: int = 0
    """Running disposable processes."""
    abandoned: int = 0
    """Processes, disposable or not, that do not end on SIGKILL: they wait in the kernel."""
    troubles: list[Trouble] = []
    log_file: str = ""
    """The log file besides stderr, '' for none."""
    incident_file: str = ""
    policy_file: str = ""
    time_scale: float = 1.0
    """The factor of this machine's deadlines."""


class Shutdown(Question["Done"], frozen=True):
    """Asks the fork server to stop the whole agent in order, as SIGTERM does; answered with Done when the stop
    begins."""


class RollingRestart(Question["Done"], frozen=True):
    """Asks the fork server to restart these actors (their configuration has changed) and programs (one is wedged).

    Each is asked to end, and its supervisor starts it again at once; that does not count as a failure. Answered with
    Done.
    """

    names: tuple[str, ...]


class Inject(Question["Done"], frozen=True, kw_only=True):
    """Asks the fork server to inject a fault; answered with Done. It forwards what only the actor itself can do."""

    name: str
    fault: Fault
    seconds: float = 0.0
    """How long it lasts (hang, stop, leak, slow, drop); 0: until the actor is replaced."""
    rate: float = 0.0
    """leak: MiB a second. drop: share of messages, 0 to 1. slow: seconds that each handler is delayed."""
    status: int | None = None
    """exit: the exit code, by default 1."""


class SetLogLevel(Question["Done"], frozen=True):
    """Changes the log verbosity of one actor until it is replaced; answered with Done."""

    verbosity: int


class Split(msgspec.Struct, frozen=True):
    """Log lines that are not errors go to stdout, buffered up to `buffer_bytes` bytes and `flush_seconds`."""

    buffer_bytes: int = 0
    flush_seconds: float = 5.0


class SetLogging(Message, frozen=True):
    """Sets the log settings of the fork server, which passes them to all actors, running and new."""

    verbosity: int
    form: Literal["text", "json"] = "text"
    vmodule: tuple[tuple[str, int], ...] = ()
    """(pattern, verbosity): see logs.configure."""
    split: Split | None = None


class Done(Message, frozen=True):
    """The order was accepted, or the reason why not."""

    error: str = ""
