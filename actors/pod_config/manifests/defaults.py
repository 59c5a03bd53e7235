"""Fills the defaults of the API server into a pod, as plain data and in place (API reference, v1 core).

Fields that are set stay as they are; null counts as not set, and so does '' for a field of a text that has a default.
The data must have passed `shape`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from actors.shared.kube import codec
from actors.shared.kube.huge_pages import is_huge_pages
from actors.shared.kube.pods import container_sum, pod_limits
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.quantity_text import written

_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_FILE_MODE = 0o644
_SHARED: Final[tuple[str, ...]] = ("cpu", "memory")
"""The resources of which the containers of a pod may together have less than its limit."""


def fill(pod: dict[str, Any]) -> dict[str, Any]:
    """The same pod with every default."""
    spec = _sub(pod, "spec")
    _set(spec, _SPEC)
    _sub(spec, "securityContext")
    if spec.get("serviceAccountName"):
        _set(spec, {"serviceAccount": spec["serviceAccountName"]})
    for volume in spec.get("volumes") or ():
        _volume(volume)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            _container(container, host_network=bool(spec.get("hostNetwork")))
    if isinstance(spec.get("resources"), dict):
        _of_whole_pod(spec)
    return pod


def _container(container: dict[str, Any], *, host_network: bool) -> None:
    _set(container, _CONTAINER)
    _set(container, {"imagePullPolicy": default_pull_policy(container.get("image") or "")})
    _requests(_sub(container, "resources"))
    for port in container.get("ports") or ():
        _set(port, {"protocol": "TCP"})
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port["containerPort"]
    for variable in container.get("env") or ():
        _field_ref(variable.get("valueFrom"))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _http(hook.get("httpGet"))


def default_pull_policy(image: str) -> str:
    """Always for the tag `latest`, also with a digest, and for neither tag nor digest; else IfNotPresent."""
    name, digest, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _requests(resources: dict[str, Any]) -> None:
    """A limit is the default of its request."""
    limits = resources.get("limits")
    if limits:
        requests = _sub(resources, "requests")
        requests.update({name: limit for name, limit in limits.items() if requests.get(name) is None})


def _of_whole_pod(spec: dict[str, Any]) -> None:
    """The resources of the pod as a whole (KEP-2837). Its limits of huge pages are by default those of its containers
    together; where it has limits, so are its requests of cpu and memory, before its limits are. Nothing is summed up
    while a quantity is invalid, which is an error of its own field.
    """
    resources = spec["resources"]
    given = {name for side in ("limits", "requests") for name in resources.get(side) or ()}
    if not given:
        return
    try:
        pod = codec.decode_pod(codec.encode({"spec": spec}))
        most, together = pod_limits(pod), container_sum(pod)
    except QuantityError:
        return
    pages = {name: value for name, value in most.items() if is_huge_pages(name) and name not in given}
    if pages:
        _set(_sub(resources, "limits"), {name: written(name, value) for name, value in pages.items()})
    if resources.get("limits"):
        shared: dict[str, Any] = {name: written(name, together[name]) for name in _SHARED if name in together}
        _set(_sub(resources, "requests"), shared)
        _requests(resources)


def _probe(probe: dict[str, Any]) -> None:
    for field, value in _PROBE.items():
        if not probe.get(field):
            probe[field] = value
    _http(probe.get("httpGet"))
    if isinstance(probe.get("grpc"), dict):
        _set(probe["grpc"], {"service": ""})


def _http(action: dict[str, Any] | None) -> None:
    for field, value in (("path", "/"), ("scheme", "HTTP")):
        if action is not None and not action.get(field):
            action[field] = value


def _field_ref(holder: dict[str, Any] | None) -> None:
    if holder and holder.get("fieldRef"):
        _set(holder["fieldRef"], {"apiVersion": "v1"})


def _volume(volume: dict[str, Any]) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    if isinstance(volume.get("hostPath"), dict):
        _set(volume["hostPath"], {"type": ""})
    if isinstance(volume.get("image"), dict):
        _set(volume["image"], {"pullPolicy": default_pull_policy(volume["image"].get("reference") or "")})
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(name), dict):
            _set(volume[name], {"defaultMode": _FILE_MODE})
    for item in _downward_items(volume):
        _field_ref(item)


def _downward_items(volume: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
    for source in sources:
        yield from (source.get("downwardAPI") or {}).get("items") or ()


def _sub(parent: dict[str, Any], field: str) -> dict[str, Any]:
    """The mapping in that field; created when it is missing."""
    mapping: dict[str, Any] | None = parent.get(field)
    if mapping is None:
        mapping = parent[field] = {}
    return mapping


def _set(target: dict[str, Any], defaults: dict[str, Any]) -> None:
    for field, value in defaults.items():
        if target.get(field) in (None, ""):
            target[field] = value
