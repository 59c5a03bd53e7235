"""The Node object of a node that registers, and the corrections to an existing one. Pure."""

from __future__ import annotations

import copy
from typing import Any, Final

import msgspec

from actors.shared.kube.extended_resources import is_extended
from actors.shared.kube.names import ARCH_LABEL, HOSTNAME_LABEL, NODE_LABELS, OLD_ARCH_LABEL, OLD_OS_LABEL, OS_LABEL
from actors.shared.linux.architecture import architecture
from supervision.backoff import RetrySchedule

Json = dict[str, Any]
RETRIES: Final = RetrySchedule(first=0.1, limit=7.0)
ATTACH_DETACH: Final = "volumes.kubernetes.io/controller-managed-attach-detach"
KEEP_VOLUMES: Final = "volumes.kubernetes.io/keep-terminated-pod-volumes"
UNINITIALIZED: Final = {
    "key": "node.cloudprovider.kubernetes.io/uninitialized",
    "value": "true",
    "effect": "NoSchedule",
}


class RegistrationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for the registration of the node."""

    name: str
    labels: dict[str, str] = {}
    """--node-labels."""
    taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value, effect of registerWithTaints."""
    provider_id: str = ""
    external_cloud: bool = False
    controller_attaches: bool = True
    keep_volumes: bool = False
    reset_devices: bool = True
    """There is no checkpoint of device plugins, so the devices that the node had before are gone."""


def new_node(plan: RegistrationPlan) -> Json:
    """The node object to create, without its status."""
    arch = architecture()
    labels = {
        OLD_ARCH_LABEL: arch,
        OLD_OS_LABEL: "linux",
        ARCH_LABEL: arch,
        HOSTNAME_LABEL: plan.name,
        OS_LABEL: "linux",
        **plan.labels,
    }
    metadata: Json = {"name": plan.name, "labels": labels}
    annotations = _annotations(plan)
    if annotations:
        metadata["annotations"] = annotations
    spec: Json = {"providerID": plan.provider_id} if plan.provider_id else {}
    taints = _taints(plan)
    if taints:
        spec["taints"] = taints
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": {}}


def reconciled(existing: Json, plan: RegistrationPlan) -> Json:
    """The existing node with default labels, the attach annotation and devices put right; taints stay as they are."""
    node = copy.deepcopy(existing)
    labels = node.setdefault("metadata", {}).setdefault("labels", {})
    wanted = new_node(plan)["metadata"]["labels"]
    for name in NODE_LABELS:  # other labels belong to users
        if wanted.get(name):
            labels[name] = wanted[name]
        elif name in wanted:  # --node-labels=topology.kubernetes.io/zone=
            labels.pop(name, None)
    annotations = node["metadata"].setdefault("annotations", {})
    if plan.controller_attaches:
        annotations[ATTACH_DETACH] = "true"
    else:
        annotations.pop(ATTACH_DETACH, None)
    if plan.reset_devices:
        _reset_devices(node.get("status") or {})
    return node


def _reset_devices(status: Json) -> None:
    for field in ("capacity", "allocatable"):
        amounts = status.get(field) or {}
        amounts.update({name: "0" for name in amounts if is_extended(name)})


def _annotations(plan: RegistrationPlan) -> dict[str, str]:
    found = {}
    if plan.controller_attaches:
        found[ATTACH_DETACH] = "true"
    if plan.keep_volumes:
        found[KEEP_VOLUMES] = "true"
    return found


def _taints(plan: RegistrationPlan) -> list[Json]:
    taints = []
    for key, value, effect in plan.taints:
        taints.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    if plan.external_cloud and UNINITIALIZED not in taints:
        taints.append(dict(UNINITIALIZED))
    return taints
