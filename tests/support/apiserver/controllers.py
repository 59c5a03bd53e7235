"""The rest of the control plane, as far as a node meets it: scheduler, namespaces, CSRs, node lifecycle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from . import signing
from .authority import Authority
from .objects import Obj, dig, moment, timestamp
from .options import Options
from .registry import Registry
from .storage import Change, Key

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_TAINTS = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_CORDON = "node.kubernetes.io/unschedulable"


class Controllers:
    """Acts at once on what changed, and each half second on what time changed."""

    def __init__(self, registry: Registry, authority: Authority, options: Options) -> None:
        self._registry, self._authority, self._options = registry, authority, options
        self._store = registry.store
        self._heard: dict[str, tuple[str, float]] = {}
        """What was seen last of each node's lease and heartbeat, and when."""
        self._reactions: dict[str, Callable[[Obj], None]] = {
            "namespaces": self._namespace,
            "pods": self._pod,
            "nodes": self._node,
            "certificatesigningrequests.certificates.k8s.io": self._csr,
        }

    async def run(self) -> None:
        subscriptions = [self._store.subscribe(plural) for plural in self._reactions]
        try:
            await asyncio.gather(*(self._follow(one.queue) for one in subscriptions), self._tick())
        finally:
            for one in subscriptions:
                self._store.unsubscribe(one)

    async def _follow(self, queue: asyncio.Queue[Change | None]) -> None:
        while True:
            change = await queue.get()
            if change is not None and change.kind != "DELETED":
                self.react(change.key)

    def react(self, key: Key) -> None:
        """To an object as it is now."""
        found = self._store.get(key)
        if found is not None:
            self._reactions[key[0]](found)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            if self._options.node_lifecycle:
                for node in self._store.items("nodes"):
                    self._watch_lease(node)

    # -- namespaces -----------------------------------------------------------------------------------------------
    def _namespace(self, namespace: Obj) -> None:
        name = namespace["metadata"]["name"]
        if "deletionTimestamp" in namespace["metadata"] or not self._options.service_accounts:
            return
        self.ensure("v1", "ServiceAccount", name, "default", {})
        self.ensure("v1", "ConfigMap", name, "kube-root-ca.crt", {"data": {"ca.crt": self._authority.pem.decode()}})

    def ensure(self, api_version: str, kind: str, namespace: str, name: str, more: Obj) -> None:
        from .request import User
        from .resources import BY_KIND

        resource = BY_KIND[api_version, kind]
        if self._store.get((resource.qualified, namespace, name)) is None:
            user = User("system:kube-controller-manager", ("system:masters",))
            self._registry.create(resource, namespace, {"metadata": {"name": name}, **more}, user)

    # -- certificates ---------------------------------------------------------------------------------------------
    def _csr(self, csr: Obj) -> None:
        def edit(one: Obj) -> None:
            signing.approve(one, self._options)
            signing.issue(one, self._authority, self._options)

        self._registry.change(("certificatesigningrequests.certificates.k8s.io", "", csr["metadata"]["name"]), edit)

    # -- scheduling -----------------------------------------------------------------------------------------------
    def _pod(self, pod: Obj) -> None:
        metadata = pod["metadata"]
        if not self._options.scheduler or pod["spec"].get("nodeName") or "deletionTimestamp" in metadata:
            return
        if pod["spec"].get("schedulingGates") or pod["spec"].get("schedulerName") != "default-scheduler":
            return
        for node in self._store.items("nodes"):
            if _fits(pod, node):
                bind(self._registry, ("pods", metadata["namespace"], metadata["name"]), node["metadata"]["name"])
                return

    def _node(self, node: Obj) -> None:
        if self._options.node_lifecycle:
            name = node["metadata"]["name"]
            node = self._registry.change(("nodes", "", name), _taint)
        if self._options.scheduler and not (node["spec"].get("taints") or []):
            for pod in self._store.items("pods"):
                self._pod(pod)

    # -- node lifecycle -------------------------------------------------------------------------------------------
    def _watch_lease(self, node: Obj) -> None:
        """By the controller's own clock: how long ago it saw the last change, so one that was away is not hasty."""
        name = node["metadata"]["name"]
        lease = self._store.get(("leases.coordination.k8s.io", "kube-node-lease", name))
        renewed = dig(lease, "spec.renewTime", "")
        ready = next((one for one in dig(node, "status.conditions", None) or [] if one["type"] == "Ready"), None)
        heard = max(filter(None, (renewed, dig(ready, "lastHeartbeatTime", ""))), key=moment, default="")
        if not heard or ready is None or ready["status"] == "Unknown":
            return
        was, since = self._heard.get(name, ("", 0.0))
        if was != heard:
            self._heard[name] = (heard, time.monotonic())
        elif time.monotonic() - since > self._options.lease_grace_seconds:
            self._registry.change(("nodes", "", name), _unknown)


def bind(registry: Registry, key: Key, node: str) -> Obj:
    """What the subresource `binding` does."""

    def edit(pod: Obj) -> None:
        pod["spec"]["nodeName"] = node
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [one for one in conditions if one["type"] != "PodScheduled"]
        conditions.append({"type": "PodScheduled", "status": "True", "lastProbeTime": None,
                           "lastTransitionTime": timestamp()})  # fmt: skip

    return registry.change(key, edit)


def _fits(pod: Obj, node: Obj) -> bool:
    ready = any(
        one["type"] == "Ready" and one["status"] == "True" for one in dig(node, "status.conditions", None) or []
    )
    wanted, has = pod["spec"].get("nodeSelector") or {}, node["metadata"].get("labels") or {}
    if not ready or node["spec"].get("unschedulable") or any(has.get(key) != value for key, value in wanted.items()):
        return False
    if _needs(pod) - set(dig(node, "status.declaredFeatures", None) or []):
        return False
    hard = [one for one in node["spec"].get("taints") or [] if one["effect"] != "PreferNoSchedule"]
    return all(any(_tolerates(one, taint) for one in pod["spec"].get("tolerations") or []) for taint in hard)


def _needs(pod: Obj) -> set[str]:
    """What a node is to declare, so that the pod can run there (KEP-5328, of 1.36)."""
    containers = [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]
    rules = [rule for one in containers for rule in one.get("restartPolicyRules") or []]
    everything = any(rule.get("action") == "RestartAllContainers" for rule in rules)
    return {"RestartAllContainersOnContainerExits"} if everything else set()


def _tolerates(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") in (None, ""):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _taint(node: Obj) -> None:
    """The taints that follow from the conditions; all others stay."""
    has = {one["type"]: one["status"] for one in dig(node, "status.conditions", None) or []}
    wanted = [(key, "NoSchedule") for kind, key in _TAINTS.items() if has.get(kind) == "True"]
    if node["spec"].get("unschedulable"):
        wanted.append((_CORDON, "NoSchedule"))
    ready = has.get("Ready", "False")
    if ready != "True":
        key = UNREACHABLE if ready == "Unknown" else NOT_READY
        wanted += [(key, "NoSchedule")] + ([(key, "NoExecute")] if "Ready" in has else [])
    ours = {*_TAINTS.values(), _CORDON, NOT_READY, UNREACHABLE}
    kept = [
        one
        for one in node["spec"].get("taints") or []
        if one["key"] not in ours or (one["key"], one["effect"]) in wanted
    ]
    had = {(one["key"], one["effect"]) for one in kept}
    kept += [_taint_of(*one) for one in wanted if one not in had]
    node["spec"]["taints"] = kept
    if not kept:
        del node["spec"]["taints"]


def _taint_of(key: str, effect: str) -> Obj:
    made: Obj = {"key": key, "effect": effect}
    return {**made, "timeAdded": timestamp()} if effect == "NoExecute" else made


def _unknown(node: Obj) -> None:
    for one in node["status"]["conditions"]:
        if one["type"] in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure") and one["status"] != "Unknown":
            one |= {"status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": timestamp(),
                    "message": "Kubelet stopped posting node status."}  # fmt: skip
