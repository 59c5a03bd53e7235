"""The four conditions that the agent owns, with the texts and times of the kubelet. Pure.

A condition's transition time moves when its status does, and only then; it is read from the API's object, so a restart
of the agent moves nothing. A condition that the agent does not know yet keeps the API's value.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Json = dict[str, Any]
Status = Literal["True", "False", "Unknown"]


class ConditionChange(msgspec.Struct, frozen=True):
    """A condition that changed: an event is recorded once the API has it."""

    reason: str


class _Pressure(msgspec.Struct, frozen=True):
    type: str
    without_pressure: tuple[str, str]
    """Reason and message without pressure."""
    pressure: tuple[str, str]
    events: tuple[str, str]
    """The reasons of the events when the pressure has ended, and when it has begun."""


PRESSURES = {
    "memory": _Pressure(
        "MemoryPressure",
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        ("NodeHasSufficientMemory", "NodeHasInsufficientMemory"),
    ),
    "disk": _Pressure(
        "DiskPressure",
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
        ("NodeHasNoDiskPressure", "NodeHasDiskPressure"),
    ),
    "pids": _Pressure(
        "PIDPressure",
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        ("NodeHasSufficientPID", "NodeHasInsufficientPID"),
    ),
}
"""In the order in which a new node has them, before Ready."""

READY = ("KubeletReady", "kubelet is posting ready status")
NOT_READY = "KubeletNotReady"


def find(conditions: list[Json], kind: str) -> Json | None:
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def is_ready(node: Json) -> bool:
    ready = find((node.get("status") or {}).get("conditions") or [], "Ready")
    return ready is not None and ready.get("status") == "True"


def with_pressure(
    conditions: list[Json], kind: str, pressure: bool | None, now: str
) -> tuple[list[Json], list[ConditionChange]]:
    """`kind` is a key of PRESSURES. `pressure`: None: not known, so a condition that is True or False stays."""
    rule = PRESSURES[kind]
    before = find(conditions, rule.type)
    if pressure is None:
        pressure = before is not None and before.get("status") == "True"
    status: Status = "True" if pressure else "False"
    if before is not None and before.get("status") == status:
        return _put(conditions, {**before, "lastHeartbeatTime": now}), []
    reason, message = rule.pressure if pressure else rule.without_pressure
    condition_now = _condition(rule.type, status, (reason, message), now, now)
    return _put(conditions, condition_now), [ConditionChange(rule.events[pressure])]


def with_ready(conditions: list[Json], errors: list[str] | None, now: str) -> tuple[list[Json], list[ConditionChange]]:
    """`errors` are why the node is not ready; None: not known yet, the condition stays, if there is one."""
    before = find(conditions, "Ready")
    if errors is None:
        if before is not None:
            return _put(conditions, {**before, "lastHeartbeatTime": now}), []
        errors = ["container runtime status check may not have completed yet"]
    status: Status = "False" if errors else "True"
    words = (NOT_READY, joined(errors)) if errors else READY
    same = before is not None and before.get("status") == status
    since = (before or {}).get("lastTransitionTime") or now if same else now
    silent = same or (before is None and errors)  # a new node that is not ready yet is no news
    changes = [] if silent else [ConditionChange("NodeNotReady" if errors else "NodeReady")]
    return _put(conditions, _condition("Ready", status, words, now, since)), changes


def joined(errors: list[str]) -> str:
    """The text as Go prints an aggregate of errors: a single one verbatim, several in brackets, each once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def without_heartbeats(conditions: list[Json]) -> list[Json]:
    """The conditions without heartbeat times, to compare: new times alone are no change."""
    return [{name: value for name, value in one.items() if name != "lastHeartbeatTime"} for one in conditions]


def _condition(kind: str, status: Status, words: tuple[str, str], now: str, since: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since,
        "reason": words[0],
        "message": words[1],
    }


def _put(conditions: list[Json], condition_now: Json) -> list[Json]:
    """Put the condition in its place, or at the end; conditions of other writers stay."""
    if find(conditions, condition_now["type"]) is None:
        return [*conditions, condition_now]
    return [condition_now if condition.get("type") == condition_now["type"] else condition for condition in conditions]
