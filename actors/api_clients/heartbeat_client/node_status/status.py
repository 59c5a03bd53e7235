"""The status of the Node object, computed from the API's last object and the known facts. Pure.

Parts without known facts keep the API's values, so a restart, or an actor that does not answer, changes nothing.
"""

from __future__ import annotations

import copy
from typing import Any, Final

import msgspec

from actors.shared.kube.extended_resources import is_extended
from actors.shared.kube.huge_pages import is_huge_pages
from actors.shared.kube.names import ARCH_LABEL, OS_LABEL
from actors.shared.kube.node_addresses import hostname_address
from actors.shared.kube.quantity_text import written

from .conditions import PRESSURES, ConditionChange, with_pressure, with_ready, without_heartbeats
from .facts import ContainerImage, NodeSettings, NodeStatusInput, NodeStatusResources
from .patch import node_patch, without_empty

Json = dict[str, Any]
NAMES_PER_IMAGE: Final = 5
PROVIDED_NODE_IP: Final = "alpha.kubernetes.io/provided-node-ip"
REQUIRED: Final = ("cpu", "memory", "pods", "ephemeral-storage")


class ComputedNode(msgspec.Struct, frozen=True):
    """A Node as it should be now."""

    node: Json
    events: list[ConditionChange]
    """To be recorded when the API has the node so."""


def compute(node: Json, facts: NodeStatusInput, settings: NodeSettings, *, now: str, clock: float) -> ComputedNode:
    """`node` is the API's; `now` RFC 3339, `clock` the monotonic clock. The given object is not changed."""
    updated = copy.deepcopy(node)
    status: Json = updated.setdefault("status", {})
    _labels(updated, facts)
    _addresses(updated, status, facts, settings)
    _resources(status, facts)
    _node_info(status, facts, settings)
    status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": settings.kubelet_port}}
    if facts.images is not None:
        _set(status, "images", _images(facts.images, settings.max_images))
    if facts.handlers is not None:
        _set(status, "runtimeHandlers", facts.handlers)
    if facts.supplemental_groups_policy is not None:
        status["features"] = {"supplementalGroupsPolicy": facts.supplemental_groups_policy}
    _set(status, "declaredFeatures", list(settings.declared_features))
    if facts.volumes_in_use is not None:
        _set(status, "volumesInUse", facts.volumes_in_use)
    events = _conditions(status, facts, settings, now, clock)
    return ComputedNode(updated, events)


def changed(before: Json, after: Json) -> bool:
    """Whether it is worth telling: heartbeat times alone are not."""
    before_meta, after_meta = before.get("metadata", {}), after.get("metadata", {})
    if any(before_meta.get(field) != after_meta.get(field) for field in ("labels", "annotations")):
        return True
    return _comparable(before.get("status") or {}) != _comparable(after.get("status") or {})


def difference(before: Json, after: Json) -> Json:
    """The patch from one to the other, heartbeat times aside."""
    return node_patch({**before, "status": _comparable(before.get("status") or {})},
                      {**after, "status": _comparable(after.get("status") or {})})  # fmt: skip


def ready_errors(status: Json, facts: NodeStatusInput, settings: NodeSettings, clock: float) -> list[str] | None:
    """Why the node is not ready, in the kubelet's order; None while that is not known."""
    shutdown = [text for source, text in sorted(facts.problems.items(), key=_storage_first) if text]
    missing = missing_capacity(status, settings)
    if not facts.runtime.settled(clock):
        return None
    return [*facts.runtime.errors(clock), *shutdown, *([missing] if missing else [])]


def missing_capacity(status: Json, settings: NodeSettings) -> str:
    capacity = status.get("capacity") or {}
    required = REQUIRED if settings.ephemeral_storage else REQUIRED[:-1]
    missing = [name for name in required if name not in capacity]
    return f"missing node capacity for resources: {', '.join(missing)}" if missing else ""


def _storage_first(problem: tuple[str, str]) -> tuple[bool, str]:
    return problem[0] == "shutdown", problem[0]


def _set(status: Json, field: str, value: list[Any]) -> None:
    """An empty list is not written: the API leaves it out, too."""
    if value:
        status[field] = value
    else:
        status.pop(field, None)


def _labels(node: Json, facts: NodeStatusInput) -> None:
    """The labels that the agent repairs at each sync; the others are reconciled when it registers."""
    node.setdefault("metadata", {}).setdefault("labels", {}).update(
        {OS_LABEL: "linux", ARCH_LABEL: facts.machine.architecture}
    )


def _addresses(node: Json, status: Json, facts: NodeStatusInput, settings: NodeSettings) -> None:
    """With an external cloud its controller sets the addresses; until then it is --node-ip, which is a hint to the
    controller, or without --node-ip the name alone. Nothing changes while no interface has the address of --node-ip."""
    if settings.node_ips and facts.addresses is None:
        return
    annotations = node.setdefault("metadata", {}).setdefault("annotations", {})
    if settings.external_cloud and settings.node_ips:
        annotations[PROVIDED_NODE_IP] = ",".join(settings.node_ips)
    else:
        annotations.pop(PROVIDED_NODE_IP, None)
    if not annotations:
        node["metadata"].pop("annotations")
    if settings.external_cloud and status.get("addresses"):
        return
    if settings.external_cloud and not settings.node_ip_given:
        status["addresses"] = [hostname_address(settings.name)]
    elif facts.addresses is not None:
        status["addresses"] = facts.addresses


def _resources(status: Json, facts: NodeStatusInput) -> None:
    """Resources that others have put into the capacity stay, and are allocatable as a whole ("Advertise Extended
    Resources for a Node"). Resources that are no longer in the capacity are not allocatable. Huge page sizes that the
    kernel no longer has are removed."""
    if facts.resources is None:
        return
    resources, devices = facts.resources, facts.devices or NodeStatusResources(capacity={}, allocatable={})
    capacity = {**_without_huge_pages(status, "capacity"), **_quantities({**devices.capacity, **resources.capacity})}
    allocatable = {
        name: value for name, value in _without_huge_pages(status, "allocatable").items() if not is_extended(name)
    }
    status["capacity"] = capacity
    own = _quantities({**devices.allocatable, **resources.allocatable})
    status["allocatable"] = {**allocatable, **capacity, **own}


def _without_huge_pages(status: Json, field: str) -> Json:
    return {name: value for name, value in (status.get(field) or {}).items() if not is_huge_pages(name)}


def _quantities(amounts: dict[str, int]) -> Json:
    return {name: written(name, amount) for name, amount in amounts.items()}


def _node_info(status: Json, facts: NodeStatusInput, settings: NodeSettings) -> None:
    machine = facts.machine
    info = {
        "machineID": machine.machine_id,
        "systemUUID": machine.system_uuid,
        "bootID": machine.boot_id,
        "kernelVersion": machine.kernel,
        "osImage": machine.os_image,
        "containerRuntimeVersion": facts.runtime_version
        or (status.get("nodeInfo") or {}).get("containerRuntimeVersion", ""),
        "kubeletVersion": settings.kubelet_version,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": machine.architecture,
    }
    swap = {"swap": {"capacity": machine.swap_bytes}} if machine.swap_bytes else {}
    status["nodeInfo"] = {**info, **swap}


def _images(images: list[ContainerImage], most: int) -> list[Json]:
    chosen = images if most < 0 else images[:most]
    return [{"names": image.names[:NAMES_PER_IMAGE], "sizeBytes": image.size_bytes} for image in chosen]


def _conditions(
    status: Json, facts: NodeStatusInput, settings: NodeSettings, now: str, clock: float
) -> list[ConditionChange]:
    conditions, events = list(status.get("conditions") or []), []
    pressure = facts.pressure
    pressures = (
        {"memory": pressure.memory, "disk": pressure.disk, "pids": pressure.pids} if pressure is not None else {}
    )
    for kind in PRESSURES:
        conditions, happened = with_pressure(conditions, kind, pressures.get(kind), now)
        events += happened
    conditions, happened = with_ready(conditions, ready_errors(status, facts, settings, clock), now)
    status["conditions"] = conditions
    return events + happened


def _comparable(status: Json) -> Json:
    compared: Json = without_empty({**status, "conditions": without_heartbeats(status.get("conditions") or [])})
    return compared
