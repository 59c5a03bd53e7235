"""What is written of a status to the API server, given what it has: owned fields only, as a strategic merge patch.

Conditions merge by type, so those of others are never touched; addresses merge by ip in the API, so a changed list is
replaced as a whole; container statuses are atomic lists (API reference, PodStatus; strategic merge patch).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.pod import PodCondition, PodIP, PodStatus

from .api_pods import ApiPod
from .conditions import ALL_RESTARTING, OWNED
from .phase import TERMINAL
from .resize_conditions import CONDITIONS as RESIZE

RESOURCES: Final = ("allocatedResources", "resources")
"""Of the pod as a whole."""
TEXTS: Final = ("phase", "reason", "message", "hostIP", "podIP")
ADDRESSES: Final = ("hostIPs", "podIPs")
STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
OWNED_CONDITIONS: Final = frozenset((*OWNED, "DisruptionTarget", *RESIZE))
WATCHED: Final = ("Ready", ALL_RESTARTING)
PHASE: Final = ("phase", "reason", "message")

Fields = dict[str, Any]


def status_patch(ours: PodStatus, theirs: PodStatus) -> Fields:
    """The fields that differ and are to be written, as JSON data; null for one that goes. Empty: nothing to write.

    A terminal phase is final, whoever wrote it; a start time is set once; an observed generation never goes back.
    """
    fields: Fields = {}
    final = theirs.phase in TERMINAL and ours.phase != theirs.phase
    for name in TEXTS:
        if getattr(ours, name) != getattr(theirs, name) and not (final and name in PHASE):
            fields[name] = getattr(ours, name) or None
    for name in ADDRESSES:
        if getattr(ours, name) != getattr(theirs, name):
            fields[name] = _addresses(getattr(ours, name), getattr(theirs, name))
    for name in STATUSES:
        if getattr(ours, name) != getattr(theirs, name):
            fields[name] = msgspec.to_builtins(getattr(ours, name)) or None
    for name in RESOURCES:
        if getattr(ours, name) != getattr(theirs, name):
            fields[name] = _map(msgspec.to_builtins(getattr(ours, name)), msgspec.to_builtins(getattr(theirs, name)))
    if ours.startTime and not theirs.startTime:
        fields["startTime"] = ours.startTime
    if ours.qosClass and not theirs.qosClass:
        fields["qosClass"] = ours.qosClass
    if ours.observedGeneration > theirs.observedGeneration:
        fields["observedGeneration"] = ours.observedGeneration
    conditions = changed_conditions(ours.conditions, theirs.conditions)
    if conditions:
        fields["conditions"] = conditions
    return fields


def changed_conditions(ours: list[PodCondition], theirs: list[PodCondition]) -> list[Fields]:
    """The owned ones that say something else than the API server's; the time of the last change only with a change.

    Each is merged into the one that is there: what that one has and ours has not is null, so that it goes. Of a resize
    that is over the condition goes as a whole.
    """
    known = {condition.type: condition for condition in theirs}
    changed = []
    for condition in ours:
        old = known.get(condition.type)
        if condition.type not in OWNED_CONDITIONS or _same(condition, old):
            continue
        when, seen = condition.lastTransitionTime, condition.observedGeneration
        if old is not None:
            seen = max(seen, old.observedGeneration)
            when = old.lastTransitionTime if old.status == condition.status else when
        said = msgspec.structs.replace(condition, lastTransitionTime=when, observedGeneration=seen)
        stale = [name for name in ("reason", "message") if old and getattr(old, name) and not getattr(said, name)]
        changed.append({**msgspec.to_builtins(said), **dict.fromkeys(stale)})
    mine = {condition.type for condition in ours}
    return changed + [{"$patch": "delete", "type": kind} for kind in RESIZE if kind in known and kind not in mine]


def _same(one: PodCondition, other: PodCondition | None) -> bool:
    if other is None or other.observedGeneration < one.observedGeneration:
        return False
    return (one.status, one.reason, one.message) == (other.status, other.reason, other.message)


def _addresses(ours: list[PodIP], theirs: list[PodIP]) -> list[dict[str, str]] | None:
    if not ours:
        return None
    listed: list[dict[str, str]] = [{"ip": each.ip} for each in ours]
    return [{"$patch": "replace"}, *listed] if theirs else listed


def _map(ours: Fields | None, theirs: Fields | None) -> Fields | None:
    """Maps merge by key: what is to go is null."""
    if not ours:
        return None
    patch: Fields = dict.fromkeys(set(theirs or ()) - set(ours))
    for key, value in ours.items():
        before = (theirs or {}).get(key)
        patch[key] = _map(value, before) if isinstance(value, dict) else value
    return patch


def is_transition(fields: Fields, theirs: PodStatus) -> bool:
    """Whether users and controllers wait for it: another phase or readiness, or all containers are restarted, which may
    be over soon."""
    before = {each.type: each.status for each in theirs.conditions}
    changed = {each["type"]: each["status"] for each in fields.get("conditions", ()) if "status" in each}
    awaited = any(changed.get(kind, "False") != before.get(kind, "False") for kind in WATCHED if kind in changed)
    return "phase" in fields or awaited


def body(pod: ApiPod, fields: Fields, *, exact: bool) -> bytes:
    """The patch. The server refuses it (409) for another pod of that name, and, when `exact`, for another version of
    this one than the one that it was made from."""
    metadata = {"uid": pod.uid}
    if exact and pod.metadata.resourceVersion:
        metadata["resourceVersion"] = pod.metadata.resourceVersion
    return codec.encode({"metadata": metadata, "status": fields})
