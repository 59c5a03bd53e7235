"""This node at the API server, by the typed client: its identity, its Node object, its Lease.

Every check raises ApiException and urllib3's HTTPError."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from actors.shared.api.remedies import NEW_CERTIFICATE, NOT_REGISTERED
from supervision.time_scale import scaled

from .finding import Finding, failure, ok, warning

SECONDS: Final = 5.0
IDENTITY: Final = "identity"
NODES: Final = "system:nodes"
NOT_YET: Final = "no agent runs yet"
SAME_NAME: Final = "if the agent has not just ended, another machine has this node's name: --hostname-override"
LEASE_SECONDS: Final = 40.0
"""The cluster considers the node lost when its lease is older than this (node-monitor-grace-period is 50 s)."""
_TAINTS_OF_CONDITIONS: Final = frozenset(
    f"node.kubernetes.io/{name}"
    for name in ("unschedulable", "not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure",
                 "network-unavailable")
)  # fmt: skip
"""The taints that the cluster itself sets and removes, from conditions that are reported elsewhere."""


def identity(api: Any, node: str) -> Iterator[Finding]:
    """The user name that the API server has for this node."""
    from kubernetes import client

    review: Any = client.AuthenticationV1Api(api).create_self_subject_review(
        client.V1SelfSubjectReview(), _request_timeout=scaled(SECONDS)
    )
    name = review.status.user_info.username
    if name.startswith("system:node:") and NODES not in (review.status.user_info.groups or ()):
        text = f"{name} is not in the group {NODES}: the API server lets it do nothing"
        yield failure(IDENTITY, text, f"a certificate with O={NODES}: {NEW_CERTIFICATE}")
    elif name == f"system:node:{node}":
        yield ok(IDENTITY, name)
    elif name.startswith("system:node:"):
        text = f"{name}, but this node is {node}: NodeRestriction refuses what it writes"
        yield failure(
            IDENTITY, text, f"--hostname-override={name.removeprefix('system:node:')}, or another certificate"
        )
    elif name.startswith("system:bootstrap:"):
        yield failure(
            IDENTITY, f"{name}: no client certificate yet", "kubectl get csr; kubectl certificate approve NAME"
        )
    else:
        yield warning(
            IDENTITY, f"{name}, not system:node:{node}", "let the node ask for its own: --bootstrap-kubeconfig"
        )


def registration(api: Any, node: str, *, running: bool = True) -> Iterator[Finding]:
    """The node object and its conditions. `running`: an agent runs here, otherwise nobody reports about the node."""
    from kubernetes import client

    try:
        found: Any = client.CoreV1Api(api).read_node(node, _request_timeout=scaled(SECONDS))
    except client.ApiException as error:
        if error.status != 404:
            raise
        if running:
            yield failure("node", f"{node} is not registered", NOT_REGISTERED)
        else:
            yield ok("node", f"{node} is not registered: {NOT_YET}")
        return
    conditions = {one.type: one for one in found.status.conditions or []}
    ready = conditions.get("Ready")
    if ready is None or ready.status != "True":
        why = f"{ready.reason}: {ready.message}" if ready is not None else "it has no Ready condition yet"
        if running:
            yield failure("node", f"{node} is not Ready: {why}", "supervise status; supervise incidents")
        else:
            yield ok("node", f"{node} is not Ready: {NOT_YET}")
    else:
        yield ok("node", f"{node} is Ready")
    for kind, condition in conditions.items():
        if kind != "Ready" and condition.status == "True":
            yield warning("node", f"{kind}: {condition.message}", f"kubectl describe node {node}")
    if found.spec.unschedulable:
        yield warning("node", "cordoned: no new pods are scheduled here", f"kubectl uncordon {node}")
    for taint in found.spec.taints or []:
        if taint.effect in ("NoSchedule", "NoExecute") and taint.key not in _TAINTS_OF_CONDITIONS:
            text = f"taint {taint.key}:{taint.effect}: only pods that tolerate it come here"
            yield warning("node", text, f"if it is to go: kubectl taint node {node} {taint.key}:{taint.effect}-")


def lease(api: Any, node: str, *, running: bool = True) -> Iterator[Finding]:
    """How fresh the node's heartbeat is. `running`: as for `registration`."""
    from kubernetes import client

    try:
        found: Any = client.CoordinationV1Api(api).read_namespaced_lease(
            node, "kube-node-lease", _request_timeout=scaled(SECONDS)
        )
    except client.ApiException as error:
        if error.status != 404:
            raise
        if running:
            yield failure("lease", f"{node} has none: its heartbeats do not arrive", "supervise logs heartbeat_client")
        else:
            yield ok("lease", f"{node} has none: {NOT_YET}")
        return
    age = (datetime.now(UTC) - found.spec.renew_time).total_seconds() if found.spec.renew_time else float("inf")
    if not running:
        ago = f"renewed {age:.0f} s ago"
        if age > LEASE_SECONDS:
            yield ok("lease", f"{ago}: {NOT_YET}")
        else:
            yield warning("lease", f"{ago}, and no agent runs here", SAME_NAME)
    elif age > LEASE_SECONDS:
        yield failure(
            "lease", f"renewed {age:.0f} s ago: the cluster takes this node for gone", "supervise logs heartbeat_client"
        )
    else:
        yield ok("lease", f"renewed {max(age, 0):.0f} s ago")
