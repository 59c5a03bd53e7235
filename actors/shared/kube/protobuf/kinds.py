"""The kinds and collections that proto/k8s_*.proto have: all that a node agent reads or writes."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Final

from google.protobuf.descriptor import Descriptor

_COLLECTIONS: Final[dict[str, dict[str, str]]] = {
    "v1": {
        "configmaps": "ConfigMap",
        "events": "Event",
        "nodes": "Node",
        "persistentvolumeclaims": "PersistentVolumeClaim",
        "persistentvolumes": "PersistentVolume",
        "pods": "Pod",
        "secrets": "Secret",
        "serviceaccounts": "ServiceAccount",
        "services": "Service",
    },
    "authentication.k8s.io/v1": {"tokenreviews": "TokenReview"},
    "authorization.k8s.io/v1": {"subjectaccessreviews": "SubjectAccessReview"},
    "certificates.k8s.io/v1": {"certificatesigningrequests": "CertificateSigningRequest"},
    "certificates.k8s.io/v1alpha1": {"clustertrustbundles": "ClusterTrustBundle"},
    "certificates.k8s.io/v1beta1": {
        "clustertrustbundles": "ClusterTrustBundle",
        "podcertificaterequests": "PodCertificateRequest",
    },
    "coordination.k8s.io/v1": {"leases": "Lease"},
    "node.k8s.io/v1": {"runtimeclasses": "RuntimeClass"},
    "resource.k8s.io/v1": {"resourceclaims": "ResourceClaim", "resourceslices": "ResourceSlice"},
    "storage.k8s.io/v1": {
        "csidrivers": "CSIDriver",
        "csinodes": "CSINode",
        "volumeattachments": "VolumeAttachment",
    },
}
"""By version of a group: the plural of each collection, and its kind. Each kind but reviews has a list, too."""

_OTHERS: Final = frozenset({("authentication.k8s.io/v1", "TokenRequest"), ("v1", "DeleteOptions"), ("v1", "Status")})
"""Kinds without a collection: what is sent to a subresource or with a request, and what answers."""

_MODULES: Final = {
    "authentication": ("k8s_reviews",),
    "authorization": ("k8s_reviews",),
    "certificates": ("k8s_certificates",),
    "coordination": ("k8s_node",),
    "node": ("k8s_node",),
    "resource": ("k8s_resource",),
    "storage": ("k8s_storage",),
    "v1": ("k8s_pod", "k8s_core", "k8s_meta"),
}
"""By the first word of the version: the modules of `proto` that have its kinds."""


def collection_of(path: str) -> str:
    """The collection in the path of a request: `v1/pods` for `/api/v1/namespaces/n/pods/p/status`; '' if there is no
    such collection."""
    parts = path.strip("/").split("/")
    split = 2 if parts[0] == "api" else 3
    version, rest = "/".join(parts[1:split]), parts[split:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return f"{version}/{rest[0]}" if rest and rest[0] in _COLLECTIONS.get(version, ()) else ""


@cache
def descriptor_of(version: str, kind: str) -> Descriptor | None:
    """The message of a kind, such as `v1` and `PodList`; None if there is no such kind."""
    single = kind.removesuffix("List")
    if single not in _COLLECTIONS.get(version, {}).values() and (version, kind) not in _OTHERS:
        return None
    for name in _MODULES[version.partition(".")[0]]:
        found = importlib.import_module(f"proto.{name}_pb2").DESCRIPTOR.message_types_by_name.get(kind)
        if isinstance(found, Descriptor):
            return found
    return None
