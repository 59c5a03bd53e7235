"""Who may do what: administrators all, nodes what the Node authorizer lets them, the rest what tests granted.

Source: the page "Using Node Authorization" of the Kubernetes documentation, and KEP-4601 (selectors).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .objects import Obj, dig
from .request import User
from .resources import CERTIFICATES, CLAIMS
from .selectors import field_terms
from .storage import Store


@dataclass(frozen=True)
class Attributes:
    """What is asked for; `path` for what is no resource."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""

    @property
    def described(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True)
class Grant:
    """A rule as RBAC has them, `*` for all; to a user or to a group."""

    subject: str
    verbs: tuple[str, ...] = ("*",)
    resources: tuple[str, ...] = ("*",)
    paths: tuple[str, ...] = ()

    def allows(self, wanted: Attributes) -> bool:
        if self.subject not in (wanted.user.name, *wanted.user.groups):
            return False
        if not ("*" in self.verbs or wanted.verb in self.verbs):
            return False
        if wanted.path:
            return any(
                wanted.path == one or (one.endswith("*") and wanted.path.startswith(one[:-1])) for one in self.paths
            )
        return "*" in self.resources or wanted.described in self.resources


ANYBODY = ("/healthz", "/livez", "/readyz", "/version", "/version/", "/api", "/api/*", "/apis", "/apis/*", "/openapi/*")
BASE_GRANTS = [
    Grant("system:authenticated", ("get",), (), ANYBODY),
    Grant("system:unauthenticated", ("get",), (), ("/healthz", "/livez", "/readyz", "/version")),
    Grant("system:authenticated", ("create",), ("selfsubjectaccessreviews", "selfsubjectreviews")),
    Grant("system:bootstrappers", ("create", "get", "list", "watch"), ("certificatesigningrequests",)),
    Grant("system:bootstrappers", ("get",), ("nodes",)),
    # What kubeadm lets anybody read, so that a node can find its cluster.
    Grant("system:bootstrappers", ("get",), ("configmaps",)),
]
_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch")
NODE_RULES: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "services"): _READ,
    ("", "nodes"): (*_READ, *_WRITE),
    ("", "nodes/status"): ("update", "patch"),
    ("", "pods"): (*_READ, "create", "delete"),
    ("", "pods/status"): ("update", "patch"),
    ("", "pods/eviction"): ("create",),
    ("", "events"): _WRITE,
    ("events.k8s.io", "events"): _WRITE,
    ("", "endpoints"): ("get",),
    ("", "persistentvolumeclaims/status"): ("get", "update", "patch"),
    ("certificates.k8s.io", "certificatesigningrequests"): ("create", *_READ),
    ("authentication.k8s.io", "tokenreviews"): ("create",),
    ("authorization.k8s.io", "subjectaccessreviews"): ("create",),
    ("authorization.k8s.io", "localsubjectaccessreviews"): ("create",),
    ("node.k8s.io", "runtimeclasses"): _READ,
    ("storage.k8s.io", "csidrivers"): _READ,
    ("certificates.k8s.io", "clustertrustbundles"): _READ,
}
_REFERENCED = {"secrets", "configmaps", "persistentvolumeclaims", "persistentvolumes"}


class Authorizer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.grants = list(BASE_GRANTS)

    def allows(self, wanted: Attributes) -> str:
        """Empty if allowed, else why not."""
        if wanted.user.admin or any(grant.allows(wanted) for grant in self.grants):
            return ""
        if wanted.user.node and not wanted.path:
            return self._node(wanted.user.node, wanted)
        return "no RBAC policy matched"

    def _node(self, node: str, wanted: Attributes) -> str:
        described = wanted.described
        if wanted.group == "" and described in _REFERENCED:
            return self._reference(node, wanted)
        if (wanted.group, described) == ("", "serviceaccounts/token"):
            return self._account(node, wanted, "create")
        if (wanted.group, wanted.resource) == ("coordination.k8s.io", "leases"):
            own = wanted.namespace == "kube-node-lease" and (wanted.name == node or wanted.verb == "create")
            return "" if own and wanted.verb in ("get", *_WRITE, "delete") else "can only access own node lease"
        if (wanted.group, wanted.resource) == ("storage.k8s.io", "csinodes"):
            own = wanted.name == node or wanted.verb == "create"
            return "" if own and wanted.verb in ("get", *_WRITE, "delete") else "can only access own csinode"
        if (wanted.group, described) == ("storage.k8s.io", "volumeattachments"):
            found = self._store.get(("volumeattachments.storage.k8s.io", "", wanted.name))
            own = wanted.verb == "get" and dig(found, "spec.nodeName", "") == node
            return "" if own else f"no relationship found between node '{node}' and this object"
        if (wanted.group, described) == (CLAIMS, "resourceclaims"):
            return self._claim(node, wanted)
        if (wanted.group, described) == (CLAIMS, "resourceslices"):
            return self._slices(node, wanted)
        if (wanted.group, wanted.resource) == (CERTIFICATES, "podcertificaterequests"):
            return self._certificate_request(node, wanted)
        if (wanted.group, described) == ("", "serviceaccounts"):
            return self._account(node, wanted, "get")
        if wanted.verb not in NODE_RULES.get((wanted.group, described), ()):
            return "no RBAC policy matched"
        return self._selected(node, wanted)

    def _selected(self, node: str, wanted: Attributes) -> str:
        """KEP-4601: nodes see their own Node and the pods bound to them, and nothing else of those."""
        if wanted.group or wanted.verb not in _READ:
            return ""
        terms = field_terms(wanted.field_selector)
        if wanted.resource == "nodes":
            own = wanted.name == node or ("metadata.name", True, node) in terms
            return "" if own else f"node '{node}' cannot read '{wanted.name}', only its own Node object"
        if wanted.resource == "pods" and wanted.verb != "get":
            own = ("spec.nodeName", True, node) in terms
            return "" if own else f"can only list/watch pods with spec.nodeName field selector '{node}'"
        if wanted.resource == "pods":
            pod = self._store.get(("pods", wanted.namespace, wanted.name))
            # one that is not there (any more) is none of the node's: 403, not 404
            own = pod is not None and dig(pod, "spec.nodeName", "") == node
            return "" if own else f"no relationship found between node '{node}' and this object"
        return ""

    def _claim(self, node: str, wanted: Attributes) -> str:
        """A node gets the claims of its pods."""
        pods = (pod for pod in self._store.items("pods", wanted.namespace) if dig(pod, "spec.nodeName", "") == node)
        own = wanted.verb == "get" and any(wanted.name in set(_claims_of(pod)) for pod in pods)
        return "" if own else f"no relationship found between node '{node}' and this object"

    @staticmethod
    def _slices(node: str, wanted: Attributes) -> str:
        """A node lists and deletes its own."""
        selected = ("spec.nodeName", True, node) in field_terms(wanted.field_selector)
        own = selected and wanted.verb in ("list", "watch", "deletecollection")
        return "" if own else f"can only list/watch/deletecollection with spec.nodeName field selector '{node}'"

    def _reference(self, node: str, wanted: Attributes) -> str:
        name = wanted.name or next((value for field, equal, value in field_terms(wanted.field_selector)
                                    if field == "metadata.name" and equal), "")  # fmt: skip
        if wanted.verb not in _READ or not name:
            return "can only read resources of this type by name"
        if (wanted.resource, wanted.namespace, name) in set(self._referenced(node)):
            return ""
        return f"no relationship found between node '{node}' and this object"

    def _referenced(self, node: str) -> Iterator[tuple[str, str, str]]:
        for pod in self._store.items("pods"):
            if dig(pod, "spec.nodeName", "") != node:
                continue
            namespace = pod["metadata"]["namespace"]
            for resource, name in references(pod):
                yield resource, namespace, name
                if resource == "persistentvolumeclaims":
                    claim = self._store.get((resource, namespace, name))
                    yield "persistentvolumes", "", dig(claim, "spec.volumeName", "")

    def _certificate_request(self, node: str, wanted: Attributes) -> str:
        """A node creates any (NodeRestriction looks at them), and reads its own."""
        if wanted.subresource:
            return "nodes may not access the status subresource of PodCertificateRequests"
        if wanted.verb in ("list", "watch"):
            own = ("spec.nodeName", True, node) in field_terms(wanted.field_selector)
            return "" if own else "can only list/watch podcertificaterequests with nodeName field selector"
        if wanted.verb == "get":
            found = self._store.get(("podcertificaterequests.certificates.k8s.io", wanted.namespace, wanted.name))
            own = dig(found, "spec.nodeName", "") == node
            return "" if own else f"no relationship found between node '{node}' and this object"
        return "" if wanted.verb == "create" else f"nodes may not {wanted.verb} podcertificaterequests"

    def _account(self, node: str, wanted: Attributes, verb: str) -> str:
        """Of a pod of the node."""
        for pod in self._store.items("pods", wanted.namespace):
            if dig(pod, "spec.nodeName", "") == node and dig(pod, "spec.serviceAccountName", "") == wanted.name:
                return "" if wanted.verb == verb else "no RBAC policy matched"
        return f"no relationship found between node '{node}' and this object"


def references(pod: Obj) -> Iterator[tuple[str, str]]:
    """(plural, name) of what a pod's own object names in its namespace."""
    spec = pod["spec"]
    for one in spec.get("imagePullSecrets") or []:
        yield "secrets", one.get("name", "")
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or []:
            yield from _of_container(container)
    for volume in spec.get("volumes") or []:
        yield from _of_volume(volume)
        if "ephemeral" in volume:
            yield "persistentvolumeclaims", f"{pod['metadata']['name']}-{volume['name']}"


def _claims_of(pod: Obj) -> Iterator[str]:
    """Names of the resource claims that the pod names or that were made for it."""
    for claim in pod["spec"].get("resourceClaims") or []:
        yield claim.get("resourceClaimName", "")
    for made in dig(pod, "status.resourceClaimStatuses", None) or []:
        yield made.get("resourceClaimName", "")
    yield dig(pod, "status.extendedResourceClaimStatus.resourceClaimName", "")


def _of_container(container: Obj) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or []:
        yield "secrets", dig(source, "secretRef.name", "")
        yield "configmaps", dig(source, "configMapRef.name", "")
    for variable in container.get("env") or []:
        yield "secrets", dig(variable, "valueFrom.secretKeyRef.name", "")
        yield "configmaps", dig(variable, "valueFrom.configMapKeyRef.name", "")


def _of_volume(volume: Obj) -> Iterator[tuple[str, str]]:
    yield "secrets", dig(volume, "secret.secretName", "")
    yield "configmaps", dig(volume, "configMap.name", "")
    yield "persistentvolumeclaims", dig(volume, "persistentVolumeClaim.claimName", "")
    for source in dig(volume, "projected.sources", None) or []:
        yield "secrets", dig(source, "secret.name", "")
        yield "configmaps", dig(source, "configMap.name", "")
    for kind in ("csi.nodePublishSecretRef", "cephfs.secretRef", "iscsi.secretRef", "flexVolume.secretRef"):
        yield "secrets", dig(volume, f"{kind}.name", "")
