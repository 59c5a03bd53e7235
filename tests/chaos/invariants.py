"""What must hold of all that was told at the API server of a node and its pods, and of the incidents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from supervision.incidents.incident import Incident
from supervision.protocol import ROOT, Fault
from tests.support.api_connection import Obj, SeenEvent
from tests.support.joined import condition, status

FINAL = ("Succeeded", "Failed")
CAUSES: dict[Fault, tuple[str, ...]] = {
    "crash": ("signal",),
    "exception": ("exception",),
    "exit": ("exit",),
    "hang": ("hang", "start_timeout"),
    "stop": ("hang", "start_timeout"),
}
"""Those that end an actor, and what its incident says then."""
FOUND_LATE: tuple[Fault, ...] = ("hang", "stop")
"""Those that are found after some seconds only."""
UNCALLED = ("exception", "exit", "signal", "memory")
"""Causes that there must be no incident of unless it was ordered. (A machine that is too busy makes hangs.)"""
MISSED_SECONDS = 10.0
"""So soon after it was ordered, a fault may have met the next process of that name."""
EXCUSED_SECONDS = 20.0
"""Within this time before the whole agent was killed, or the actor's supervisor ended and all below it with it, a fault
may not have come to its incident."""


class Injected(msgspec.Struct, frozen=True):
    """A fault that the agent has taken. `at`: seconds since 1970. `pid`: of the actor then."""

    at: float
    actor: str
    pid: int
    fault: Fault


def not_ready(nodes: Iterable[SeenEvent]) -> Iterator[str]:
    """A node that was Ready stays so, whatever became of its parts."""
    for one in nodes:
        found = condition(one.obj, "Ready")
        if found.get("status") != "True":
            yield f"the node was not Ready at {one.at:.1f}: {found.get('reason')}: {found.get('message')}"


def regressed_phases(pods: Iterable[SeenEvent]) -> Iterator[str]:
    """Restart counts do not go back, an end is final, and what has run is not pending again."""
    phases: dict[str, str] = {}
    counts: dict[tuple[str, str], int] = {}
    for one in pods:
        uid, found = str(one.obj["metadata"]["uid"]), status(one.obj)
        old, new = phases.get(uid, ""), str(found.get("phase", ""))
        if (old in FINAL and new != old) or (old == "Running" and new == "Pending"):
            yield f"{one.name} was {old} and then {new}"
        phases[uid] = new
        for each in found.get("containerStatuses") or []:
            key = (uid, each["name"])
            if each["restartCount"] < counts.get(key, 0):
                yield f"{one.name}: restart count {counts[key]} and then {each['restartCount']}"
            counts[key] = each["restartCount"]


def badly_reported(injected: Sequence[Injected], incidents: Sequence[Incident], killed: Sequence[float]) -> list[str]:
    """Each fault has one record, of this actor and cause, and no other has any. `killed`: when the agent was."""
    wrong = []
    ordered = {(one.actor, one.pid) for one in injected}
    records: dict[tuple[str, int], list[Incident]] = {}
    for incident in incidents:
        records.setdefault((incident.actor, incident.pid), []).append(incident)
    for key, found in records.items():
        if len(found) > 1:
            wrong.append(f"{len(found)} incidents of one process: {key}")
        if key not in ordered and found[0].cause in UNCALLED and not _ordered_just_before(found[0], injected):
            wrong.append(f"nobody ordered it: {key[0]} {found[0].summary}\n{found[0].detail}")
    for key in sorted(ordered):
        faults = [one for one in injected if (one.actor, one.pid) == key and one.fault in CAUSES]
        above = [_time(one) for one in incidents if _is_above(one.actor, key[0])]
        forgiven = any(
            0 <= when - one.at < EXCUSED_SECONDS
            for one in faults
            for when in (*killed, *(above if one.fault in FOUND_LATE else ()))
        )
        causes = {cause for one in faults for cause in CAUSES[one.fault]}
        seen = records.get(key)
        if faults and seen is None and not forgiven:
            wrong.append(f"no incident of {faults}")
        elif faults and seen and seen[0].cause not in causes and len(faults) == 1:
            wrong.append(f"{faults} is reported as {seen[0].summary}")
    return wrong


def _is_above(supervisor: str, actor: str) -> bool:
    return actor != supervisor and (supervisor == ROOT or actor.startswith(f"{supervisor}/"))


def _time(incident: Incident) -> float:
    return datetime.fromisoformat(incident.time).timestamp()


def _ordered_just_before(incident: Incident, injected: Sequence[Injected]) -> bool:
    return any(one.actor == incident.actor and 0 <= _time(incident) - one.at < MISSED_SECONDS for one in injected)


def status_mismatch(pod: Obj, running: dict[str, str], restarts: dict[str, int]) -> str:
    """How the status of a pod that goes on differs from the runtime's; empty if it does not. By containers' names."""
    for one in status(pod).get("containerStatuses") or []:
        name = one["name"]
        told = one.get("containerID", "").rpartition("/")[2] if "running" in one["state"] else ""
        if told != running.get(name, ""):
            return f"{name} at the API {told!r}, in the runtime {running.get(name, '')!r}"
        if one["restartCount"] != restarts.get(name, 0):
            return f"{name}: restart count {one['restartCount']} at the API, {restarts.get(name, 0)} in the runtime"
    return ""
