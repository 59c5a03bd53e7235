"""What `kubectl get` shows: the server makes the table (Accept: application/json;as=Table)."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from .objects import Obj, dig, moment
from .resources import Resource

Column = tuple[str, str, int, Callable[[Obj], Any]]
"""Name, type, priority (1: with -o wide only), value."""


def wanted(accept: str) -> bool:
    return "as=Table" in accept


def table(resource: Resource, objects: list[Obj], metadata: Obj | None = None) -> Obj:
    columns = [_NAME, *_COLUMNS.get(resource.plural, ()), _AGE]
    if resource.plural == "pods":
        columns = [_NAME, *_COLUMNS["pods"][:3], _AGE, *_COLUMNS["pods"][3:]]
    if resource.plural == "nodes":
        columns = [_NAME, *_COLUMNS["nodes"][:2], _AGE, *_COLUMNS["nodes"][2:]]
    definitions = [
        {
            "name": name,
            "type": kind,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, kind, priority, _ in columns
    ]
    rows = [{"cells": [value(one) for *_, value in columns], "object": _partial(one)} for one in objects]
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata or {}}
    return {**head, "columnDefinitions": definitions, "rows": rows}


def _partial(obj: Obj) -> Obj:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def age(stamp: str | None) -> str:
    """Two units at most, as duration.HumanDuration writes it for short times."""
    if not stamp:
        return "<unknown>"
    seconds = max(0, int((datetime.datetime.now(datetime.UTC) - moment(stamp)).total_seconds()))
    if seconds < 120:
        return f"{seconds}s"
    if seconds < 600:
        return f"{seconds // 60}m{seconds % 60}s" if seconds % 60 else f"{seconds // 60}m"
    if seconds < 3 * 3600:
        return f"{seconds // 60}m"
    return f"{seconds // 3600}h" if seconds < 48 * 3600 else f"{seconds // 86400}d"


def _ready(pod: Obj) -> str:
    statuses = dig(pod, "status.containerStatuses", None) or []
    return f"{sum(one.get('ready', False) for one in statuses)}/{len(pod['spec']['containers'])}"


def _pod_status(pod: Obj) -> str:
    """The reason of the container that is worst off, as printPod finds it."""
    reason = dig(pod, "status.reason", "") or dig(pod, "status.phase", "")
    running = False
    for one in dig(pod, "status.containerStatuses", None) or []:
        state = one.get("state") or {}
        if why := dig(state, "waiting.reason", ""):
            reason = why
        elif ended := state.get("terminated"):
            signalled = f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"
            reason = ended.get("reason") or signalled
        elif one.get("ready") and state.get("running"):
            running = True
    if reason == "Completed" and running:
        reason = "Running"
    return "Terminating" if "deletionTimestamp" in pod["metadata"] else reason


def _restarts(pod: Obj) -> str:
    return str(sum(one.get("restartCount", 0) for one in dig(pod, "status.containerStatuses", None) or []))


def _node_status(node: Obj) -> str:
    ready = next((one for one in dig(node, "status.conditions", None) or [] if one["type"] == "Ready"), None)
    text = "Unknown" if ready is None else ("Ready" if ready["status"] == "True" else "NotReady")
    return f"{text},SchedulingDisabled" if dig(node, "spec.unschedulable", False) else text


def _roles(node: Obj) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = [key.removeprefix(prefix) for key in dig(node, "metadata.labels", None) or {} if key.startswith(prefix)]
    return ",".join(sorted(roles)) or "<none>"


def _address(node: Obj) -> str:
    found = (one["address"] for one in dig(node, "status.addresses", None) or [] if one["type"] == "InternalIP")
    return next(found, "<none>")


def _conditions(csr: Obj) -> str:
    kinds = [one["type"] for one in dig(csr, "status.conditions", None) or []] or ["Pending"]
    return ",".join(kinds + (["Issued"] if dig(csr, "status.certificate", "") else []))


def _last_seen(event: Obj) -> str:
    return age(event.get("lastTimestamp") or event.get("firstTimestamp") or event.get("eventTime"))


def _at(path: str, default: str = "<none>") -> Callable[[Obj], Any]:
    return lambda obj: dig(obj, path, default) or default


def _about(event: Obj) -> str:
    return f"{dig(event, 'involvedObject.kind', '').lower()}/{dig(event, 'involvedObject.name', '')}"


_NAME: Column = ("Name", "string", 0, _at("metadata.name"))
_AGE: Column = ("Age", "string", 0, lambda obj: age(obj["metadata"].get("creationTimestamp")))
_COLUMNS: dict[str, tuple[Column, ...]] = {
    "pods": (
        ("Ready", "string", 0, _ready),
        ("Status", "string", 0, _pod_status),
        ("Restarts", "string", 0, _restarts),
        ("IP", "string", 1, _at("status.podIP")),
        ("Node", "string", 1, _at("spec.nodeName")),
    ),
    "nodes": (
        ("Status", "string", 0, _node_status),
        ("Roles", "string", 0, _roles),
        ("Version", "string", 0, _at("status.nodeInfo.kubeletVersion", "")),
        ("Internal-IP", "string", 1, _address),
        ("Container-Runtime", "string", 1, _at("status.nodeInfo.containerRuntimeVersion", "")),
    ),
    "secrets": (
        ("Type", "string", 0, _at("type")),
        ("Data", "string", 0, lambda obj: len(obj.get("data") or {})),
    ),
    "configmaps": (("Data", "string", 0, lambda obj: len(obj.get("data") or {})),),
    "namespaces": (("Status", "string", 0, _at("status.phase")),),
    "services": (
        ("Type", "string", 0, _at("spec.type")),
        ("Cluster-IP", "string", 0, _at("spec.clusterIP")),
    ),
    "certificatesigningrequests": (
        ("SignerName", "string", 0, _at("spec.signerName")),
        ("Requestor", "string", 0, _at("spec.username")),
        ("Condition", "string", 0, _conditions),
    ),
    "leases": (("Holder", "string", 0, _at("spec.holderIdentity")),),
    "events": (
        ("Last Seen", "string", 0, _last_seen),
        ("Type", "string", 0, _at("type")),
        ("Reason", "string", 0, _at("reason")),
        ("Object", "string", 0, _about),
        ("Message", "string", 0, _at("message", "")),
    ),
}
