"""What the API server fills in of a pod that was sent: the defaults of core/v1."""

from __future__ import annotations

from typing import Any

from .objects import Obj

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE = 0o644


def default_pod(pod: Obj) -> None:
    spec = pod["spec"]
    for key, value in {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }.items():
        spec.setdefault(key, value)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if "serviceAccount" in spec and "serviceAccountName" not in spec:
        spec["serviceAccountName"] = spec["serviceAccount"]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or []:
            _container(container, bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or []:
        _volume(volume)


def _container(container: Obj, host_network: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("resources", {})
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
        if host_network:
            port.setdefault("hostPort", port.get("containerPort"))
    for limit, value in (container["resources"].get("limits") or {}).items():
        container["resources"].setdefault("requests", {}).setdefault(limit, value)
    for name in _PROBES:
        if probe := container.get(name):
            _probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _handler(hook)
    for variable in container.get("env") or []:
        if reference := (variable.get("valueFrom") or {}).get("fieldRef"):
            reference.setdefault("apiVersion", "v1")


def _pull_policy(image: str) -> str:
    tagged = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return "Always" if "@" not in image and tagged in ("", "latest") else "IfNotPresent"


def _probe(probe: Obj) -> None:
    for key, value in {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}.items():
        probe.setdefault(key, value)
    _handler(probe)


def _handler(handler: Obj) -> None:
    if http := handler.get("httpGet"):
        http.setdefault("path", "/")
        http.setdefault("scheme", "HTTP")
    if grpc := handler.get("grpc"):
        grpc.setdefault("service", "")


def _volume(volume: Obj) -> None:
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(kind), dict):
            volume[kind].setdefault("defaultMode", _FILE_MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    projected: list[Any] = (volume.get("projected") or {}).get("sources") or []
    for source in projected:
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        _field_refs(source.get("downwardAPI"))
    _field_refs(volume.get("downwardAPI"))


def _field_refs(downward: Obj | None) -> None:
    for item in (downward or {}).get("items") or []:
        if reference := item.get("fieldRef"):
            reference.setdefault("apiVersion", "v1")


def qos_class(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort (pod-qos page of the documentation)."""
    requests, limits = dict[str, set[str]](), dict[str, set[str]]()
    containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    guaranteed = True
    for container in containers:
        wanted = container.get("resources") or {}
        for into, which in ((requests, "requests"), (limits, "limits")):
            for name, value in (wanted.get(which) or {}).items():
                if name in ("cpu", "memory") and str(value) not in ("0", "0m"):
                    into.setdefault(name, set()).add(str(value))
        has = wanted.get("limits") or {}
        if not {"cpu", "memory"} <= set(has) or any(
            str((wanted.get("requests") or {}).get(name, value)) != str(value) for name, value in has.items()
        ):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def taint_tolerations(pod: Obj) -> None:
    """The admission plugin DefaultTolerationSeconds."""
    has = pod["spec"].setdefault("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        covered = any(one.get("key") in (None, "", key) and one.get("effect") in (None, "", "NoExecute") for one in has)
        if not covered:
            has.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def token_volume(pod: Obj, suffix: str, account: Obj) -> None:
    """The admission plugin ServiceAccount: a projected volume with token, CA and namespace, in every container."""
    spec = pod["spec"]
    wanted = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    if not wanted:
        return
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    shortage = [one for one in containers if all(m.get("mountPath") != place for m in one.get("volumeMounts") or [])]
    if not shortage:
        return
    name = f"kube-api-access-{suffix}"
    for one in shortage:
        one.setdefault("volumeMounts", []).append({"name": name, "readOnly": True, "mountPath": place})
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources: list[Obj] = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    spec.setdefault("volumes", []).append({"name": name, "projected": {"sources": sources, "defaultMode": _FILE_MODE}})
