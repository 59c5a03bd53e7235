"""Pods that every cluster made by kubeadm has, in the shape of kube-proxy, of a CNI plugin's agent, and of CoreDNS."""

from __future__ import annotations

from typing import Any

from tests.support.api_connection import Obj
from tests.support.joined import BUSYBOX, FOREVER, NODE

NAMESPACE = "kube-system"
_EVERYWHERE = [{"operator": "Exists"}]
_CHANGES = "sh", "-c"


def _pod(name: str, **spec: Any) -> Obj:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"k8s-app": name}}
    settings = {"nodeName": NODE, "terminationGracePeriodSeconds": 5, "nodeSelector": {"kubernetes.io/os": "linux"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**settings, **spec}}


def _container(name: str, command: list[str], mounts: dict[str, str], **more: Any) -> Obj:
    listed = [{"name": volume, "mountPath": path} for volume, path in mounts.items()]
    return {"name": name, "image": BUSYBOX, "imagePullPolicy": "IfNotPresent", "command": command,
            "volumeMounts": listed, **more}  # fmt: skip


def _host(name: str, path: str, kind: str = "") -> Obj:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def kube_proxy(host: str) -> Obj:
    """Of the host's network, privileged, with its lock file, its modules and a ConfigMap `kube-proxy`."""
    own = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    mounts = {"kube-proxy": "/var/lib/kube-proxy", "xtables-lock": "/run/xtables.lock", "lib-modules": "/lib/modules"}
    container = _container("kube-proxy", FOREVER, mounts, env=[own], securityContext={"privileged": True})
    container["volumeMounts"][2]["readOnly"] = True
    return _pod(
        "kube-proxy",
        containers=[container],
        hostNetwork=True,
        priorityClassName="system-node-critical",
        tolerations=_EVERYWHERE,
        volumes=[
            {"name": "kube-proxy", "configMap": {"name": "kube-proxy", "defaultMode": 420}},
            _host("xtables-lock", f"{host}/xtables.lock", "FileOrCreate"),
            _host("lib-modules", "/lib"),
        ],
    )


def network_agent(net_dir: str, file: str, shared: str) -> Obj:
    """Its init container installs the network's configuration, from the ConfigMap `network`, in `net_dir` as `file`;
    its container mounts a file system on the host, below `shared`."""
    script = f"cp /config/conflist /host/net.d/.new && mv /host/net.d/.new /host/net.d/{file}"
    install = _container("install-cni", [*_CHANGES, script], {"config": "/config", "net-d": "/host/net.d"})
    mount = f"mount -t tmpfs tmpfs /host/shared/made && {FOREVER[2]}"
    agent = _container("agent", [*_CHANGES, mount], {"shared": "/host/shared"}, securityContext={"privileged": True})
    agent["volumeMounts"][0]["mountPropagation"] = "Bidirectional"
    return _pod(
        "network-agent",
        initContainers=[install],
        containers=[agent],
        hostNetwork=True,
        priorityClassName="system-node-critical",
        tolerations=_EVERYWHERE,
        volumes=[
            {"name": "config", "configMap": {"name": "network"}},
            _host("net-d", net_dir, "DirectoryOrCreate"),
            _host("shared", shared, "Directory"),
        ],
    )


def coredns() -> Obj:
    """Of the pods' network, with few rights, named ports in its probes, its Corefile from the ConfigMap `coredns`."""
    serve = "mkdir -p /tmp/www && cd /tmp/www && touch health ready && exec httpd -f -p 8181"
    probe = {"httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}, "periodSeconds": 1}
    rights = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    container = _container(
        "coredns",
        [*_CHANGES, serve],
        {"config-volume": "/etc/coredns", "tmp": "/tmp"},
        args=["-conf", "/etc/coredns/Corefile"],
        ports=[
            {"containerPort": 53, "name": "dns", "protocol": "UDP"},
            {"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"},
            {"containerPort": 8181, "name": "readiness-probe", "protocol": "TCP"},
        ],
        livenessProbe={**probe, "failureThreshold": 5, "initialDelaySeconds": 60},
        readinessProbe=probe,
        resources={"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        securityContext=rights,
    )
    container["volumeMounts"][0]["readOnly"] = True
    items = [{"key": "Corefile", "path": "Corefile"}]
    return _pod(
        "coredns",
        containers=[container],
        dnsPolicy="Default",
        priorityClassName="system-cluster-critical",
        tolerations=[{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        volumes=[
            {"name": "config-volume", "configMap": {"name": "coredns", "items": items, "defaultMode": 420}},
            {"name": "tmp", "emptyDir": {}},
        ],
    )
