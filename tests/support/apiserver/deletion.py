"""How objects go: at once, after finalizers, or for pods after a grace that their node ends."""

from __future__ import annotations

from .errors import conflict
from .objects import Obj, copy, moment, timestamp
from .resources import Resource
from .storage import Key, Store

_PRECONDITIONS = (
    ("uid", "UID", "The object might have been deleted and then recreated"),
    ("resourceVersion", "ResourceVersion", "The object might have been modified"),
)


def check_preconditions(resource: Resource, current: Obj, options: Obj) -> None:
    """Raises StatusError 409."""
    wanted, has = options.get("preconditions") or {}, current["metadata"]
    for field, title, meaning in _PRECONDITIONS:
        if wanted.get(field) and wanted[field] != has[field]:
            text = f"the {title} in the precondition ({wanted[field]}) does not match the {title} in record"
            conflict(resource.qualified_kind, has["name"], f"{text} ({has[field]}). {meaning}")


def delete(store: Store, resource: Resource, key: Key, options: Obj) -> tuple[Obj, bool]:
    """The object, and whether it is gone."""
    current = store.get(key)
    assert current is not None
    check_preconditions(resource, current, options)
    grace = _grace(current, options) if resource.plural == "pods" else 0
    if grace == 0 and not current["metadata"].get("finalizers"):
        return store.remove(key), True
    marked = _marked(current, grace)
    return (store.put(key, marked) if marked != current else current), False


def _grace(pod: Obj, options: Obj) -> int:
    """Seconds; 0 for a pod that no node has, or that has ended."""
    wanted = options.get("gracePeriodSeconds")
    if wanted is None:
        wanted = pod["spec"].get("terminationGracePeriodSeconds", 30)
    if wanted < 0:
        wanted = 1
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if not pod["spec"].get("nodeName") or ended:
        return 0
    return int(wanted)


def _marked(current: Obj, grace: int) -> Obj:
    """With deletionTimestamp. A second deletion may only make the time shorter."""
    made: Obj = copy(current)
    metadata = made["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = timestamp(grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata:
            metadata["generation"] += 1
        return made
    had = metadata.get("deletionGracePeriodSeconds", 0)
    if grace < had:
        earlier = moment(metadata["deletionTimestamp"]).timestamp() - had + grace
        metadata["deletionTimestamp"] = timestamp(earlier - _now())
        metadata["deletionGracePeriodSeconds"] = grace
    return made


def _now() -> float:
    return moment(timestamp()).timestamp()


def new_finalizers(old: Obj, new: Obj) -> list[tuple[str, str, str]]:
    """Causes: what is being deleted is held up by nobody new."""
    had, has = (one["metadata"].get("finalizers") or [] for one in (old, new))
    added = [one for one in has if one not in had]
    if "deletionTimestamp" not in old["metadata"] or not added:
        return []
    listed = " ".join(added)
    text = "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers"
    return [("metadata.finalizers", "FieldValueForbidden", f"{text} []string{{{listed}}}")]


def finished(current: Obj) -> bool:
    """It was only its finalizers that kept it."""
    metadata = current["metadata"]
    waits = metadata.get("deletionGracePeriodSeconds", 0)
    return "deletionTimestamp" in metadata and not metadata.get("finalizers") and not waits
