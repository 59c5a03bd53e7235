"""The admission plugin NodeRestriction: what a node may not write although it may write to that collection."""

from __future__ import annotations

from collections.abc import Callable

from .authorizer import references
from .errors import StatusError, forbidden
from .objects import Obj, dig
from .request import Target, User
from .storage import Store

MIRROR = "kubernetes.io/config.mirror"
_OWN_LABELS = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
}
_OWN_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


class NodeRestriction:
    """Raises StatusError 403."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._checks: dict[str, Callable[[str, Target, Obj | None, Obj | None], None]] = {
            "pods": self._pod,
            "nodes": self._node,
            "leases": self._lease,
            "serviceaccounts": self._token,
            "podcertificaterequests": self._certificate,
        }

    def check(self, user: User, target: Target, old: Obj | None, new: Obj | None) -> None:
        """`old` None for a create, `new` None for a delete."""
        if user.node and (found := self._checks.get(target.resource.plural)):
            found(user.node, target, old, new)

    def _pod(self, node: str, target: Target, old: Obj | None, new: Obj | None) -> None:
        if target.subresource == "status" or new is None:
            if dig(old, "spec.nodeName", "") != node:
                what = "update status for" if new is not None else "delete"
                forbidden("pods", target.name, f'node "{node}" can only {what} pods with spec.nodeName set to itself')
            if old is not None and new is not None and old["metadata"].get("labels") != new["metadata"].get("labels"):
                forbidden("pods", target.name, f'node "{node}" cannot update labels through pod status')
        elif old is None and target.subresource == "":
            self._new_pod(node, target, new)

    def _new_pod(self, node: str, target: Target, pod: Obj) -> None:
        name, spec = pod["metadata"].get("name", ""), pod.get("spec") or {}
        if MIRROR not in (pod["metadata"].get("annotations") or {}):
            forbidden(
                "pods", name, f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods'
            )
        if spec.get("nodeName") != node:
            forbidden("pods", name, f'node "{node}" can only create pods with spec.nodeName set to itself')
        self._owner(node, pod)
        if spec.get("serviceAccountName"):
            forbidden("pods", name, f'node "{node}" can not create pods that reference a service account')
        for plural, referred in references(pod):
            if referred:
                forbidden("pods", name, f'node "{node}" can not create pods that reference {plural}')

    def _owner(self, node: str, pod: Obj) -> None:
        name, owners = pod["metadata"].get("name", ""), pod["metadata"].get("ownerReferences") or []
        if len(owners) != 1:
            forbidden(
                "pods", name, f'node "{node}" can only create pods with exactly one owner reference, set to itself'
            )
        owner = owners[0]
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            forbidden("pods", name, f'node "{node}" can only create pods with an owner reference set to itself')
        if not owner.get("controller"):
            forbidden(
                "pods", name, f'node "{node}" can only create pods with a controller owner reference set to itself'
            )
        if owner.get("blockOwnerDeletion"):
            forbidden("pods", name, f'node "{node}" must not set blockOwnerDeletion on an owner reference')
        found = self._store.get(("nodes", "", node))
        if dig(found, "metadata.uid", "") != owner.get("uid"):
            uid = dig(found, "metadata.uid", "")
            forbidden("pods", name, f"node {node} UID mismatch: expected {owner.get('uid')} got {uid}")

    def _node(self, node: str, target: Target, old: Obj | None, new: Obj | None) -> None:
        name = target.name or dig(new, "metadata.name", "")
        if name != node:
            forbidden("nodes", name, f'node "{node}" is not allowed to modify node "{name}"')
        if new is None:
            forbidden("nodes", name, f'node "{node}" cannot delete itself')
        before = dig(old, "metadata.labels", None) or {}
        after = dig(new, "metadata.labels", None) or {}
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        if bad := sorted(key for key in changed if not _may_label(key)):
            forbidden("nodes", name, f"is not allowed to modify labels: {', '.join(bad)}")
        if old is not None and (dig(old, "spec.taints", None) or []) != (dig(new, "spec.taints", None) or []):
            forbidden("nodes", name, f'node "{node}" is not allowed to modify taints')

    def _lease(self, node: str, target: Target, old: Obj | None, new: Obj | None) -> None:
        name = target.name or dig(new, "metadata.name", "")
        if name != node or target.namespace != "kube-node-lease":
            forbidden(
                "leases.coordination.k8s.io",
                name,
                "can only access node lease with the same name as the requesting node",
            )

    def _certificate(self, node: str, target: Target, old: Obj | None, new: Obj | None) -> None:
        """Node, pod and service account are those that there are, and fit. What a cache that is behind could explain is
        an error of the server, which may be gone the next time."""
        spec, resource = dig(new, "spec", {}), "podcertificaterequests.certificates.k8s.io"
        name, where = dig(new, "metadata.name", ""), f"{target.namespace}/{spec.get('podName')}"
        if spec.get("nodeName") != node:
            forbidden(
                resource, name, f'spec.nodeName="{spec.get("nodeName")}", which is not the requesting node "{node}"'
            )
        pod = self._store.get(("pods", target.namespace, spec.get("podName", "")))
        account = ("serviceaccounts", target.namespace, spec.get("serviceAccountName", ""))
        has = (self._store.get(("nodes", "", node)), pod, self._store.get(account))
        for found, field in zip(has, ("nodeUID", "podUID", "serviceAccountUID"), strict=True):
            if dig(found, "metadata.uid", "") != spec.get(field):
                raise StatusError(500, f'PodCertificateRequest for pod "{where}": {field} differs from the object')
        if dig(pod, "spec.nodeName", "") != node:
            forbidden(resource, name, f'pod "{where}" is not running on node "{node}"')
        if MIRROR in (dig(pod, "metadata.annotations", None) or {}):
            forbidden(resource, name, f'pod "{where}" is a mirror pod')
        if dig(pod, "spec.serviceAccountName", "") != spec.get("serviceAccountName"):
            forbidden(resource, name, f'serviceAccountName differs from that of the pod "{where}"')

    def _token(self, node: str, target: Target, old: Obj | None, new: Obj | None) -> None:
        if target.subresource != "token":
            return
        bound = dig(new, "spec.boundObjectRef", None) or {}
        if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
            forbidden("serviceaccounts", target.name, "node requested token not bound to a pod")
        if not bound.get("uid"):
            forbidden("serviceaccounts", target.name, "node requested token with a pod binding without a uid")
        pod = self._store.get(("pods", target.namespace, bound["name"]))
        if dig(pod, "metadata.uid", "") != bound["uid"]:
            forbidden(
                "serviceaccounts", target.name, "the UID in the bound object reference does not match the UID in record"
            )
        if dig(pod, "spec.nodeName", "") != node:
            forbidden(
                "serviceaccounts", target.name, "node requested token bound to a pod scheduled on a different node"
            )
        self._audience(target, pod or {}, dig(new, "spec.audiences", None) or [])

    def _audience(self, target: Target, pod: Obj, wanted: list[str]) -> None:
        """ServiceAccountNodeAudienceRestriction (KEP-4412): only what a volume of the pod asks for."""
        if len(wanted) > 1:
            forbidden("serviceaccounts", target.name, "node may only request 0 or 1 audiences")
        sources = [
            source.get("serviceAccountToken") or {}
            for volume in pod["spec"].get("volumes") or []
            for source in (volume.get("projected") or {}).get("sources") or []
        ]
        known = [source.get("audience") for source in sources] + self._audiences_of_drivers(pod)
        if wanted and wanted[0] not in known:
            forbidden("serviceaccounts", target.name, f'audience "{wanted[0]}" not found in pod spec volume')

    def _audiences_of_drivers(self, pod: Obj) -> list[str]:
        """What the storage drivers of the pod's own volumes and of its claims ask for."""
        drivers = set[str]()
        for volume in pod["spec"].get("volumes") or []:
            name = dig(volume, "persistentVolumeClaim.claimName", "")
            claim = self._store.get(("persistentvolumeclaims", pod["metadata"]["namespace"], name)) if name else None
            found = self._store.get(("persistentvolumes", "", dig(claim, "spec.volumeName", ""))) if claim else None
            drivers |= {dig(volume, "csi.driver", ""), dig(found or {}, "spec.csi.driver", "")} - {""}
        objects = [self._store.get(("csidrivers.storage.k8s.io", "", name)) or {} for name in drivers]
        requests = [one for found in objects for one in dig(found, "spec.tokenRequests", None) or []]
        return [one.get("audience", "") for one in requests]


def _may_label(key: str) -> bool:
    prefix = key.rpartition("/")[0]
    if not any(prefix == one or prefix.endswith(f".{one}") for one in ("kubernetes.io", "k8s.io")):
        return True
    if prefix == "node-restriction.kubernetes.io" or prefix.endswith(".node-restriction.kubernetes.io"):
        return False
    return key in _OWN_LABELS or any(prefix == one or prefix.endswith(f".{one}") for one in _OWN_PREFIXES)
