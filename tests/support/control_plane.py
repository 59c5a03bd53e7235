"""The four static pods that `kubeadm init` writes, in its shape; the images and what they run are the tests' own."""

from __future__ import annotations

import msgspec

from tests.support.api_connection import Obj
from tests.support.joined import BUSYBOX, FOREVER

SERVED = "mkdir -p /tmp/www && cd /tmp/www && touch livez readyz healthz && exec httpd -f -p 127.0.0.1:{port}"
"""A component that answers its probes."""


def _component(name: str, script: str, port: int, probes: Obj, **spec: object) -> Obj:
    container = {
        "command": ["sh", "-c", script] if script else FOREVER,
        "image": BUSYBOX,
        "imagePullPolicy": "IfNotPresent",
        "name": name,
        "ports": [{"containerPort": port, "name": "probe-port", "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "25m", "memory": "16Mi"}},
        **probes,
    }
    volumes = spec.pop("volumes", {})
    assert isinstance(volumes, dict)
    container["volumeMounts"] = [
        {"mountPath": path, "name": volume, "readOnly": True} for volume, (path, _) in volumes.items()
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {f"kubeadm.kubernetes.io/{name}.advertise-address.endpoint": "127.0.0.1:6443"},
            "labels": {"component": name, "tier": "control-plane"},
            "name": name,
            "namespace": "kube-system",
        },
        "spec": {
            "containers": [container],
            "hostNetwork": True,
            "priority": 2000001000,
            "priorityClassName": "system-node-critical",
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [
                {"hostPath": {"path": place, "type": kind}, "name": volume} for volume, (place, kind) in volumes.items()
            ],
        },
        "status": {},
    }


def _probe(path: str, scheme: str, failures: int) -> Obj:
    action = {"host": "127.0.0.1", "path": path, "port": "probe-port", "scheme": scheme}
    return {
        "failureThreshold": failures,
        "httpGet": action,
        "initialDelaySeconds": 1,
        "periodSeconds": 1,
        "timeoutSeconds": 15,
    }


def manifests(server_port: int, ports: tuple[int, int, int], host: str) -> dict[str, str]:
    """By name, as JSON. The pod kube-apiserver stands for a server that is elsewhere: its probes look at `server_port`.

    `host` is a directory for what the pods mount: volumes are mounted where they are on the host, as kubeadm has it.
    """
    directory = "DirectoryOrCreate"
    certificates = {"k8s-certs": (f"{host}/pki", directory), "ca-certs": ("/etc/ssl/certs", directory)}
    config = {"kubeconfig": (f"{host}/component.conf", "FileOrCreate")}
    etcd, manager, scheduler = ports
    secure = {
        "livenessProbe": _probe("/livez", "HTTPS", 8),
        "readinessProbe": _probe("/readyz", "HTTPS", 3),
        "startupProbe": _probe("/livez", "HTTPS", 120),
    }
    plain = {
        "livenessProbe": _probe("/livez", "HTTP", 8),
        "readinessProbe": _probe("/readyz", "HTTP", 3),
        "startupProbe": _probe("/livez", "HTTP", 24),
    }
    simple = {"livenessProbe": _probe("/healthz", "HTTP", 8), "startupProbe": _probe("/healthz", "HTTP", 24)}
    data = {"etcd-certs": (f"{host}/pki/etcd", directory), "etcd-data": (f"{host}/etcd", directory)}
    made = [
        _component("kube-apiserver", "", server_port, secure, volumes=certificates),
        _component("etcd", SERVED.format(port=etcd), etcd, plain, volumes=data),
        _component(
            "kube-controller-manager", SERVED.format(port=manager), manager, simple, volumes={**certificates, **config}
        ),
        _component("kube-scheduler", SERVED.format(port=scheduler), scheduler, simple, volumes=config),
    ]
    return {one["metadata"]["name"]: msgspec.json.encode(one).decode() for one in made}
