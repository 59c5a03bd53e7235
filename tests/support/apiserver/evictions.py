"""The subresource `eviction`: a pod is deleted unless a PodDisruptionBudget has nothing left."""

from __future__ import annotations

from . import selectors
from .errors import StatusError
from .objects import Obj, copy, dig, timestamp
from .storage import Key, Store

BUDGETS = "poddisruptionbudgets.policy"
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def check(store: Store, pod: Obj) -> None:
    """Takes one disruption from the pod's budget. Raises StatusError 429, 500."""
    if dig(pod, "status.phase") in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]:
        return
    found = [one for one in store.items(BUDGETS, pod["metadata"]["namespace"]) if _covers(one, pod)]
    if len(found) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(500, text)
    if found and not _spare(found[0], pod):
        _take(store, found[0], pod)


def _covers(budget: Obj, pod: Obj) -> bool:
    selector = dig(budget, "spec.selector")
    return selector is not None and selectors.matches(selector, pod["metadata"].get("labels") or {})


def _spare(budget: Obj, pod: Obj) -> bool:
    """A pod that is not ready goes where enough others are healthy."""
    conditions = dig(pod, "status.conditions") or []
    if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
        return False
    if dig(budget, "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    healthy, wanted = dig(budget, "status.currentHealthy", 0), dig(budget, "status.desiredHealthy", 0)
    return bool(healthy >= wanted > 0)


def _take(store: Store, budget: Obj, pod: Obj) -> None:
    name, status = budget["metadata"]["name"], budget["status"]
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        _refuse(f"The disruption budget {name} is still being processed by the server.", 10)
    if status.get("disruptionsAllowed", 0) < 1:
        needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        _refuse(f"The disruption budget {name} needs {needs} healthy pods and has {has} currently", 0)
    made: Obj = copy(budget)
    made["status"]["disruptionsAllowed"] -= 1
    made["status"].setdefault("disruptedPods", {})[pod["metadata"]["name"]] = timestamp()
    store.put((BUDGETS, pod["metadata"]["namespace"], name), made)


def _refuse(why: str, retry_after: int) -> None:
    causes = [{"reason": "DisruptionBudget", "message": why}]
    raise StatusError(429, REFUSED, retry_after=retry_after, causes=causes)


def mark(store: Store, key: Key, pod: Obj) -> None:
    """The condition DisruptionTarget, which the pod has before it is deleted."""
    made: Obj = copy(pod)
    conditions = made["status"].setdefault("conditions", [])
    conditions[:] = [one for one in conditions if one["type"] != "DisruptionTarget"]
    conditions.append({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                       "message": "Eviction API: evicting", "lastProbeTime": None,
                       "lastTransitionTime": timestamp()})  # fmt: skip
    store.put(key, made)
