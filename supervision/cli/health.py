"""Whether the agent is ready, degraded or down, and why. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from ..protocol import DISK, ROOT, ActorState, LastingFault, Tree, Trouble
from .text import duration

_NOT_AGAIN: Final = "its restart type is temporary, so it is not started again"
_STUCK: Final = (
    "ps -eo pid,stat,wchan:30,args | grep ' D': what they wait for; the disk or server behind it must answer"
)
HealthState = Literal["ready", "degraded", "down"]
SILENT_SECONDS: Final = 5.0
"""An actor sends a heartbeat every two seconds."""
GAVE_UP_SECONDS: Final = 600.0
"""How long `status` names a supervisor that gave up and was started again."""


class Reason(msgspec.Struct, frozen=True):
    """A problem."""

    subject: str
    """An actor, a service, a file."""
    text: str
    down: bool = False
    """The agent as a whole does not work because of it; else only a part does not."""
    remedy: str = ""
    """What mends it or shows the cause, preferably a command; '' for nothing in particular."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


class TreeHealth(msgspec.Struct, frozen=True):
    """The answer of `supervise status`."""

    state: HealthState
    reasons: list[Reason]


def decide(tree: Tree, stopped: Collection[int] = (), others: Iterable[Reason] = ()) -> TreeHealth:
    """The health of the agent: ready without a reason, down with a reason that is `down`, else degraded. `stopped`:
    pids of processes that a signal has stopped. `others`: the reasons that the application knows."""
    reasons = [*reasons_of_tree(tree, stopped), *others]
    if any(reason.down for reason in reasons):
        return TreeHealth("down", reasons)
    return TreeHealth("degraded" if reasons else "ready", reasons)


def state_of_actors(tree: Tree, stopped: Collection[int] = ()) -> HealthState:
    """The state of the actors alone; outside services that do not answer do not count."""
    return decide(msgspec.structs.replace(tree, troubles=[]), stopped).state


def reasons_of_tree(tree: Tree, stopped: Collection[int] = ()) -> Iterator[Reason]:
    """The problems that the fork server knows of."""
    if tree.state in ("starting", "stopping"):
        yield Reason("agent", f"it is {tree.state}", remedy="supervise tree")
    disk = next((trouble.remedy for trouble in tree.troubles if trouble.service == DISK), "")
    actor_reasons = [reason for actor in tree.actors for reason in _reasons_of_actor(actor, stopped, disk)]
    yield from actor_reasons
    if tree.state == "degraded" and not actor_reasons:
        yield Reason("agent", "a part of it is not in service", remedy="supervise tree")
    if tree.abandoned:
        text = f"{tree.abandoned} processes do not end on SIGKILL: they wait in the kernel"
        yield Reason("agent", text, remedy=_STUCK)
    for trouble in tree.troubles:
        yield _reason_of_trouble(trouble)


def _reason_of_trouble(trouble: Trouble) -> Reason:
    """An outside service that does not answer."""
    return Reason(
        trouble.service,
        f"{trouble.text}, for {duration(trouble.seconds)}",
        remedy=trouble.remedy or f"supervise logs {trouble.actor}",
    )


def is_silent(actor: ActorState) -> bool:
    """Whether a running actor sends no heartbeats. A program sends none, so it never is."""
    return actor.kind != "program" and actor.state == "running" and actor.heartbeat_age > SILENT_SECONDS


def unserved_seconds(actor: ActorState) -> float:
    """How long an actor with a process that is not in service has been starting or stopping."""
    return actor.stopping_seconds if actor.state == "stopping" else actor.uptime


def symptom(actor: ActorState) -> str:
    """The problem of an actor in service, by its last heartbeat or an injected fault: `busy 3s`, `silent 7s`, `slow
    injected`; '' for nothing."""
    if is_silent(actor):
        return f"silent {duration(actor.heartbeat_age)}"
    if actor.busy_seconds >= 1:
        return f"busy {duration(actor.busy_seconds)}"
    return f"{', '.join(one.fault for one in actor.injected)} injected" if actor.injected else ""


def _reason_of_fault(name: str, injected: LastingFault) -> Reason:
    left = "" if injected.seconds_left is None else f" {duration(injected.seconds_left)} more"
    text = f"{injected.fault} was injected, and lasts{left}"
    return Reason(name, text, remedy=f"supervise inject {name} crash")


def _reasons_of_actor(actor: ActorState, stopped: Collection[int], disk: str) -> Sequence[Reason]:
    """`disk`: what mends the agent's disk that hangs; '' if none does."""
    down, look = actor.name == ROOT, f"supervise incidents {actor.name} --full"
    last = f", last incident: {actor.last_incident}" if actor.last_incident else ""
    if actor.is_over:
        # its policy does not restart it; it counts only if it ended by a fault
        return [] if actor.ended_orderly else [Reason(actor.name, f"down{last}; {_NOT_AGAIN}", down, look)]
    if actor.state == "down":
        what = "its supervisor waits before it starts it again, or has given up" if last else "it was not started yet"
        return [Reason(actor.name, f"down{last}; {what}", down, look)]
    if actor.state != "running":
        text = f"{actor.state} for {duration(unserved_seconds(actor))}{last}"
        return [Reason(actor.name, text, down, look if last else f"supervise logs {actor.name}")]
    if actor.pid in stopped:
        remedy = f"kill -CONT {actor.pid}, or wait: its supervisor replaces it"
        return [Reason(actor.name, "stopped by a signal", down, remedy)]
    if is_silent(actor) and disk:
        text = f"no heartbeat for {duration(actor.heartbeat_age)}; nobody is replaced while the disk hangs"
        return [Reason(actor.name, text, down, disk)]
    if is_silent(actor):
        text = f"hangs: no heartbeat for {duration(actor.heartbeat_age)}; its supervisor replaces it"
        return [Reason(actor.name, text, down, f"wait until it is replaced; {look}: what it did")]
    if actor.injected:
        return [_reason_of_fault(actor.name, fault) for fault in actor.injected]
    if actor.gave_up and actor.gave_up_age < GAVE_UP_SECONDS:
        text = f"gave up {duration(actor.gave_up_age)} ago, and was started again with all below it"
        return [Reason(actor.name, text, remedy=look)]
    return []
