"""Objects of every collection that a node agent reads or writes, with fields of each shape that JSON has otherwise than
protobuf has them: as they are created, for the contract of both forms."""

from __future__ import annotations

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Obj = dict[str, Any]
_ENV: Obj = {
    "env": [
        {"name": "EMPTY"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
    ],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c"}}],
}
_CONTAINER: Obj = {
    "name": "web", "image": "busybox:1", "command": ["sh"], **_ENV,
    "ports": [{"name": "http", "containerPort": 8080, "hostPort": 0}],
    "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": 1}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http", "httpHeaders": [{"name": "A", "value": ""}]}},
    "readinessProbe": {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 0},
    "startupProbe": {"grpc": {"port": 9, "service": ""}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 0}}},
    "securityContext": {"runAsUser": 0, "privileged": False, "capabilities": {"drop": ["ALL"]}},
    "volumeMounts": [{"name": "empty", "mountPath": "/e"}],
}  # fmt: skip
_SOURCES: list[Obj] = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
    {"configMap": {"name": "c", "items": [{"key": "a", "path": "b", "mode": 0}]}},
    {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
]
_TERM: Obj = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
_CLAIM: Obj = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
POD: Obj = {
    "schedulerName": "nobody",
    "containers": [_CONTAINER],
    "initContainers": [{"name": "i", "image": "busybox:1", "restartPolicy": "Always"}],
    "volumes": [
        {"name": "empty", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "secret", "secret": {"secretName": "s", "defaultMode": 256, "optional": True}},
        {"name": "all", "projected": {"sources": _SOURCES}},
        {"name": "made", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": _CLAIM}}},
    ],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "hostUsers": True,
    "terminationGracePeriodSeconds": 0,
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "a", "labelSelector": {"matchLabels": {"a": "b"}}}}
            ]
        },
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    ],
    "dnsConfig": {"options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}]},
    "securityContext": {"supplementalGroups": [7, 8], "sysctls": [{"name": "net.core.somaxconn", "value": "9"}]},
}


def certificate_request(user: str) -> str:
    """PEM in base64."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    pem = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(pem.public_bytes(serialization.Encoding.PEM)).decode()


NAMESPACED: dict[str, Obj] = {
    "v1/configmaps": {"data": {"a": "", "b": "ü\n"}, "binaryData": {"c": "/wA="}, "immutable": False},
    "v1/events": {
        "involvedObject": {"kind": "Pod", "name": "p"},
        "firstTimestamp": "2026-11-23T12:00:00Z",
        "eventTime": "2026-11-23T12:00:00.123456Z",
        "count": 3, "type": "Normal", "reason": "Tried", "message": "x",
        "action": "Try", "reportingComponent": "kubelet", "reportingInstance": "n",
    },
    "v1/persistentvolumeclaims": {"spec": _CLAIM},
    "v1/pods": {"spec": POD},
    "v1/secrets": {"data": {"a": "/wA=", "b": ""}, "type": "Opaque"},
    "v1/serviceaccounts": {"secrets": [{"name": "s"}], "automountServiceAccountToken": False},
    "v1/services": {"spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}}},
    "coordination.k8s.io/v1/leases": {
        "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40, "renewTime": "2026-11-23T12:00:00.000001Z"}
    },
    "resource.k8s.io/v1/resourceclaims": {
        "spec": {"devices": {
            "requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 1}}],
            "config": [{"requests": ["r"], "opaque": {"driver": "d.example.com", "parameters": {"kind": "S"}}}],
        }}
    },
}  # fmt: skip
"""By collection: an object without its name."""
CLUSTER: dict[str, Obj] = {
    "v1/nodes": {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "metadata": {"labels": {"a": ""}}},
    "v1/persistentvolumes": {
        "spec": {
            "capacity": {"storage": "1500Mi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "csi": {"driver": "d.example.com", "volumeHandle": "h", "volumeAttributes": {"a": "b"}},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [_TERM]}},
        }
    },
    "certificates.k8s.io/v1/certificatesigningrequests": {
        "spec": {
            "request": certificate_request("system:node:n"), "expirationSeconds": 3600,
            "signerName": "example.com/nobody", "usages": ["digital signature", "client auth"],
        }
    },
    "node.k8s.io/v1/runtimeclasses": {"handler": "h", "overhead": {"podFixed": {"cpu": "10m"}}, "scheduling": {}},
    "resource.k8s.io/v1/resourceslices": {
        "spec": {
            "driver": "d.example.com", "pool": {"name": "p", "generation": 0, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": [{
                "name": "d",
                "attributes": {"a": {"bool": False}, "b": {"int": 0}, "c": {"string": "x"}, "d": {"version": "1.0.0"}},
                "capacity": {"memory": {"value": "1Gi"}},
            }],
        }
    },
    "storage.k8s.io/v1/csidrivers": {"spec": {"attachRequired": False, "tokenRequests": [{"audience": "a"}]}},
    "storage.k8s.io/v1/csinodes": {
        "spec": {"drivers": [{"name": "d", "nodeID": "i", "topologyKeys": ["zone"], "allocatable": {"count": 0}}]}
    },
    "storage.k8s.io/v1/volumeattachments": {
        "spec": {"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    },
}  # fmt: skip
