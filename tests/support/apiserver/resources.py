"""The collections there are: one line each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    short: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    stored: bool = True
    """False for reviews, which are answered and forgotten."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As messages name it: `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """As messages name it: `Lease.coordination.k8s.io`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def base(self) -> str:
        """Path of the group and version."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"


POD_PARTS = (
    "status",
    "binding",
    "log",
    "exec",
    "attach",
    "portforward",
    "eviction",
    "ephemeralcontainers",
    "proxy",
    "resize",
)
AUTHN, AUTHZ, CERTIFICATES = "authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io"
STORAGE, EVENTS, CLAIMS = "storage.k8s.io", "events.k8s.io", "resource.k8s.io"

RESOURCES = (
    Resource("", "v1", "namespaces", "Namespace", False, ("ns",), ("status", "finalize")),
    Resource("", "v1", "nodes", "Node", False, ("no",), ("status", "proxy")),
    Resource("", "v1", "pods", "Pod", True, ("po",), POD_PARTS),
    Resource("", "v1", "secrets", "Secret", True),
    Resource("", "v1", "configmaps", "ConfigMap", True, ("cm",)),
    Resource("", "v1", "services", "Service", True, ("svc",), ("status",)),
    Resource("", "v1", "endpoints", "Endpoints", True, ("ep",)),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",), ("token",)),
    Resource("", "v1", "events", "Event", True, ("ev",)),
    Resource("", "v1", "persistentvolumes", "PersistentVolume", False, ("pv",), ("status",)),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, ("pvc",), ("status",)),
    Resource("", "v1", "limitranges", "LimitRange", True, ("limits",)),
    Resource("", "v1", "resourcequotas", "ResourceQuota", True, ("quota",), ("status",)),
    Resource(EVENTS, "v1", "events", "Event", True, ("ev",)),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", True),
    Resource(CERTIFICATES, "v1", "certificatesigningrequests", "CertificateSigningRequest", False, ("csr",),
             ("status", "approval")),
    Resource(CERTIFICATES, "v1beta1", "clustertrustbundles", "ClusterTrustBundle", False),
    Resource(CERTIFICATES, "v1beta1", "podcertificaterequests", "PodCertificateRequest", True, (), ("status",)),
    Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", False),
    Resource(STORAGE, "v1", "csinodes", "CSINode", False),
    Resource(STORAGE, "v1", "csidrivers", "CSIDriver", False),
    Resource(STORAGE, "v1", "storageclasses", "StorageClass", False, ("sc",)),
    Resource(STORAGE, "v1", "volumeattachments", "VolumeAttachment", False, (), ("status",)),
    Resource(CLAIMS, "v1", "resourceclaims", "ResourceClaim", True, (), ("status",)),
    Resource(CLAIMS, "v1", "resourceslices", "ResourceSlice", False),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, ("pc",)),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",), ("status",)),
    Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False),
    Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", False),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role", True),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", True),
    Resource("apps", "v1", "daemonsets", "DaemonSet", True, ("ds",), ("status",)),
    Resource("apps", "v1", "deployments", "Deployment", True, ("deploy",), ("status", "scale")),
    Resource(AUTHN, "v1", "tokenreviews", "TokenReview", False, stored=False),
    Resource(AUTHN, "v1", "selfsubjectreviews", "SelfSubjectReview", False, stored=False),
    Resource(AUTHZ, "v1", "subjectaccessreviews", "SubjectAccessReview", False, stored=False),
    Resource(AUTHZ, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, stored=False),
)  # fmt: skip

BY_PATH = {(one.group, one.version, one.plural): one for one in RESOURCES}
BY_KIND = {(one.api_version, one.kind): one for one in RESOURCES}
CORE_EVENTS = BY_PATH["", "v1", "events"]


def core(plural: str) -> Resource:
    return BY_PATH["", "v1", plural]


def named(qualified: str) -> Resource:
    """By `pods` or `leases.coordination.k8s.io` or just `leases`. Raises KeyError."""
    for one in RESOURCES:
        if qualified in (one.qualified, one.plural):
            return one
    raise KeyError(qualified)
