"""The Lease of the node, which shows the control plane that the agent is alive. Pure."""

from __future__ import annotations

import copy
from typing import Any, Final

from actors.shared.kube.times import micro_time
from supervision.backoff import RetrySchedule

Json = dict[str, Any]
COLLECTION: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
QUICK_ATTEMPTS: Final = 5
JITTER: Final = 0.04
RETRIES: Final = RetrySchedule(first=0.1, limit=7.0)
"""The pauses between attempts to read or create the Lease."""


def renew_seconds(duration: int) -> float:
    """A quarter of its duration."""
    return duration * 0.25


def renewed(lease: Json | None, name: str, duration: int, now: float, node_uid: str) -> Json:
    """The Lease as it should be now. The owner is set once the Node is known."""
    result = copy.deepcopy(lease) if lease is not None else _new_lease(name)
    spec = result.setdefault("spec", {})
    spec.update(holderIdentity=name, leaseDurationSeconds=duration, renewTime=micro_time(now))
    if node_uid and not result["metadata"].get("ownerReferences"):
        result["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid},
        ]
    return result


def _new_lease(name: str) -> Json:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {},
    }
