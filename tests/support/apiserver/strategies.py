"""What each kind does as it is created and updated: defaults, fields that are the server's, rules."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from .certificate_requests import default_request
from .certificate_rules import bundle_name_causes
from .errors import invalid
from .objects import Obj, copy, timestamp
from .pod_defaults import default_pod, qos_class
from .pod_rules import changed_spec_causes, name_causes, pod_causes
from .request import User
from .resources import Resource

Preparation = Callable[[Obj, User], None]
_PARTS = ("ephemeralcontainers", "resize")
SERVER_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_COUNTED = ("pods", "poddisruptionbudgets", "daemonsets", "deployments")
"""Each change of their spec is a generation."""
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix() -> str:
    """Five characters, as generateName appends them."""
    number = uuid.uuid4().int
    return "".join(_ALPHABET[(number >> (8 * place)) % len(_ALPHABET)] for place in range(5))


def prepare_create(resource: Resource, obj: Obj, user: User) -> None:
    """Changes `obj`. Raises StatusError 422."""
    metadata = obj["metadata"]
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + random_suffix()
    metadata["uid"], metadata["creationTimestamp"] = str(uuid.uuid4()), timestamp()
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "selfLink"):
        metadata.pop(field, None)
    metadata.pop("generation", None)
    if resource.plural in _COUNTED:
        metadata["generation"] = 1
    _CREATE.get(resource.plural, _nothing)(obj, user)
    named = bundle_name_causes if resource.plural == "clustertrustbundles" else name_causes
    causes = named(obj) + (pod_causes(obj) if resource.plural == "pods" else [])
    if causes:
        invalid(resource.qualified_kind, metadata.get("name", ""), causes)


def _nothing(obj: Obj, user: User) -> None:
    return


def _pod(pod: Obj, user: User) -> None:
    pod.setdefault("spec", {}).setdefault("containers", [])
    default_pod(pod)
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod["spec"])}


def _secret(secret: Obj, user: User) -> None:
    secret.setdefault("type", "Opaque")
    _string_data(secret)


def _string_data(secret: Obj) -> None:
    import base64

    for key, value in (secret.pop("stringData", None) or {}).items():
        secret.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()


def _service(service: Obj, user: User) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if "clusterIP" not in spec and spec["type"] != "ExternalName":
        spec["clusterIP"] = f"10.96.{uuid.uuid4().int % 255}.{uuid.uuid4().int % 254 + 1}"
    if spec.get("clusterIP"):
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    service.setdefault("status", {"loadBalancer": {}})


def _csr(csr: Obj, user: User) -> None:
    """Who asks is what the server saw, whatever was sent."""
    csr["spec"] |= {"username": user.name, "groups": list(user.groups), **({"uid": user.uid} if user.uid else {})}
    csr["status"] = {}


def _namespace(namespace: Obj, user: User) -> None:
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}
    namespace["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = namespace["metadata"]["name"]


def _budget(budget: Obj, user: User) -> None:
    budget["status"] = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}


def _node(node: Obj, user: User) -> None:
    """The admission plugin TaintNodesByCondition: not-ready until the node lifecycle controller has seen it Ready."""
    spec = node.setdefault("spec", {})
    if spec.get("podCIDR"):
        spec.setdefault("podCIDRs", [spec["podCIDR"]])
    taints = spec.setdefault("taints", [])
    if user.node and all(one.get("key") != "node.kubernetes.io/not-ready" for one in taints):
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})


_CREATE: dict[str, Preparation] = {
    "pods": _pod,
    "secrets": _secret,
    "services": _service,
    "certificatesigningrequests": _csr,
    "namespaces": _namespace,
    "nodes": _node,
    "poddisruptionbudgets": _budget,
    "podcertificaterequests": lambda request, user: default_request(request),
}


def prepare_update(resource: Resource, old: Obj, new: Obj, subresource: str) -> None:
    """Changes `new`: what is the server's stays, and what this part is not about. Raises StatusError 422."""
    for field in SERVER_FIELDS:
        _keep(old["metadata"], new["metadata"], field)
    new["metadata"].pop("selfLink", None)
    if subresource == "status":
        if resource.plural == "pods":
            _keep(old["metadata"], new["metadata"], "ownerReferences")
        _keep(old, new, "spec")
    elif "status" in resource.subresources and subresource in ("", *_PARTS):
        _keep(old, new, "status")
    if resource.plural == "secrets":
        _string_data(new)
    if resource.plural == "pods" and subresource in _PARTS:
        _part_of_pod(old, new, subresource)
    elif resource.plural == "pods" and not subresource:
        _updated_pod(old, new)
    elif resource.plural == "certificatesigningrequests":
        _stamp_conditions(new)
    if resource.plural in _COUNTED and old.get("spec") != new.get("spec"):
        new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1


def _updated_pod(old: Obj, new: Obj) -> None:
    default_pod(new)
    causes = pod_causes(new) or changed_spec_causes(old, new)
    if causes:
        invalid("Pod", new["metadata"]["name"], causes)


def _stamp_conditions(csr: Obj) -> None:
    for one in csr.get("status", {}).get("conditions") or []:
        one.setdefault("lastUpdateTime", timestamp())
        one.setdefault("lastTransitionTime", timestamp())


def _part_of_pod(old: Obj, new: Obj, subresource: str) -> None:
    """Of the spec only debug containers, or only resources, may change."""
    changed, made = new["spec"], copy(old["spec"])
    if subresource == "ephemeralcontainers":
        _keep(changed, made, "ephemeralContainers")
    else:
        _keep(changed, made, "resources")
        for kind in ("initContainers", "containers"):
            resized = {one["name"]: one for one in changed.get(kind) or []}
            for container in made.get(kind) or []:
                for field in ("resources", "resizePolicy"):
                    _keep(resized.get(container["name"], container), container, field)
    new["spec"] = made
    default_pod(new)


def _keep(old: Obj, new: Obj, field: str) -> None:
    value: Any = old.get(field)
    if field in old:
        new[field] = value
    else:
        new.pop(field, None)
