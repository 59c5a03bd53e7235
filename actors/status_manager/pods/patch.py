"""The strategic merge patch of a pod's status at the API server: the owned fields that differ. Pure.

Conditions merge by type, so those of other owners never change; addresses merge by ip in the API, so a changed list is
replaced as a whole; container statuses are atomic lists (API reference, PodStatus; strategic merge patch).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.pod import PodCondition, PodIP, PodStatus
from actors.shared.kube.pods import TERMINAL_PHASES

from ..status.conditions import ALL_RESTARTING, OWNED
from ..status.resize_conditions import CONDITIONS as RESIZE
from ..status.resize_conditions import has_changed
from .api_pods import ApiPod

RESOURCES: Final = ("allocatedResources", "resources")
"""Fields about the resources of the whole pod (KEP-2837)."""
TEXTS: Final = ("phase", "reason", "message", "hostIP", "podIP")
ADDRESSES: Final = ("hostIPs", "podIPs")
STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
OWNED_CONDITIONS: Final = frozenset((*OWNED, "DisruptionTarget", *RESIZE))
REGULAR: Final = "containerStatuses"
FIRST_START: Final = ("waiting", "running")
WATCHED: Final = ("Ready", ALL_RESTARTING, *RESIZE)
PHASE: Final = ("phase", "reason", "message")

Fields = dict[str, Any]


def status_patch(status: PodStatus, api_status: PodStatus) -> Fields:
    """The fields that differ, as JSON data; null removes one. Empty: there is nothing to write.

    A terminal phase is final, also one that another client wrote; a start time is set once; an observed generation
    never decreases.
    """
    fields: Fields = {}
    final = api_status.phase in TERMINAL_PHASES and status.phase != api_status.phase
    for name in TEXTS:
        if getattr(status, name) != getattr(api_status, name) and not (final and name in PHASE):
            fields[name] = getattr(status, name) or None
    for name in ADDRESSES:
        if getattr(status, name) != getattr(api_status, name):
            fields[name] = _addresses(getattr(status, name), getattr(api_status, name))
    for name in STATUSES:
        if getattr(status, name) != getattr(api_status, name):
            fields[name] = msgspec.to_builtins(getattr(status, name)) or None
    for name in RESOURCES:
        if getattr(status, name) != getattr(api_status, name):
            value = getattr(status, name) or None
            fields[name] = _map(msgspec.to_builtins(value), msgspec.to_builtins(getattr(api_status, name)))
    if status.startTime and not api_status.startTime:
        fields["startTime"] = status.startTime
    if status.qosClass and not api_status.qosClass:
        fields["qosClass"] = status.qosClass
    if status.observedGeneration > api_status.observedGeneration:
        fields["observedGeneration"] = status.observedGeneration
    conditions = changed_conditions(status.conditions, api_status.conditions)
    if conditions:
        fields["conditions"] = conditions
    return fields


def changed_conditions(status: list[PodCondition], api_status: list[PodCondition]) -> list[Fields]:
    """The owned conditions that differ. A time of the last change is written only with a change.

    The server merges each into its own: null removes an outdated text. The condition of a resize that is done is
    deleted, and so are all of the node's conditions of a pod that it has rejected, the scheduler's PodScheduled too.
    """
    known = {condition.type: condition for condition in api_status}
    changed = []
    for condition in status:
        old = known.get(condition.type)
        if condition.type not in OWNED_CONDITIONS or _same(condition, old):
            continue
        when, seen = condition.lastTransitionTime, condition.observedGeneration
        if old is not None:
            seen = max(seen, old.observedGeneration)
            when = when if has_changed(condition, old) else old.lastTransitionTime
        dated = msgspec.structs.replace(condition, lastTransitionTime=when, observedGeneration=seen)
        stale = [name for name in ("reason", "message") if old and getattr(old, name) and not getattr(dated, name)]
        changed.append({**msgspec.to_builtins(dated), **dict.fromkeys(stale)})
    owned = {condition.type for condition in status}
    gone = [kind for kind in (*RESIZE, *OWNED) if kind in known and kind not in owned]
    return changed + [{"$patch": "delete", "type": kind} for kind in gone]


def _same(one: PodCondition, other: PodCondition | None) -> bool:
    if other is None or other.observedGeneration < one.observedGeneration:
        return False
    return (one.status, one.reason, one.message) == (other.status, other.reason, other.message)


def _addresses(status: list[PodIP], api_status: list[PodIP]) -> list[dict[str, str]] | None:
    if not status:
        return None
    listed: list[dict[str, str]] = [{"ip": each.ip} for each in status]
    return [{"$patch": "replace"}, *listed] if api_status else listed


def _map(status: Fields | None, api_status: Fields | None) -> Fields | None:
    """The patch of a map. Maps merge by key, and null removes one. An empty map differs from a missing one."""
    if status is None:
        return None
    patch: Fields = dict.fromkeys(set(api_status or ()) - set(status))
    for key, value in status.items():
        before = (api_status or {}).get(key)
        patch[key] = _map(value, before) if isinstance(value, dict) else value
    return patch


def is_transition(fields: Fields, api_status: PodStatus, *, once: bool = False) -> bool:
    """Whether users and controllers wait for the change, or might miss it, since the next one may come at once: phase,
    readiness, AllContainersRestarting, a resize, and the steps of a container. `once`: none starts again after its end.
    """
    before = {each.type: each.status for each in api_status.conditions}
    changed = {each["type"]: each.get("status", "False") for each in fields.get("conditions", ())}
    awaited = any(changed.get(kind, "False") != before.get(kind, "False") for kind in WATCHED if kind in changed)
    return "phase" in fields or awaited or any(_steps(name, fields, api_status, once=once) for name in STATUSES)


def _steps(name: str, fields: Fields, api_status: PodStatus, *, once: bool) -> bool:
    """Whether a container of this list has begun, ended, or is started again. The first start of a regular container is
    left to the phase: those of a pod start together, and make it Running. Its end is, too, if nothing follows it.
    """
    before = {
        each.name: (each.restartCount, _state_name(partial(getattr, each.state))) for each in getattr(api_status, name)
    }
    for each in fields.get(name) or ():
        (restarts, old), new = before.get(each["name"], (0, "waiting")), _state_name(each["state"].get)
        together = name == REGULAR and ((old, new) == FIRST_START or (once and new == "terminated"))
        if each["restartCount"] != restarts or (old != new and not together):
            return True
    return False


def _state_name(part: Callable[[str], object]) -> str:
    """The state that a container is in. `part`: that state of the container by its name, None if it is not in it."""
    return next((name for name in ("terminated", "running") if part(name) is not None), "waiting")


def body(pod: ApiPod, fields: Fields, *, exact: bool) -> bytes:
    """The patch as JSON. The server refuses it (409) for another pod of that name and, if `exact`, for another version
    of this pod.
    """
    metadata = {"uid": pod.uid}
    if exact and pod.metadata.resourceVersion:
        metadata["resourceVersion"] = pod.metadata.resourceVersion
    return codec.encode({"metadata": metadata, "status": fields})
