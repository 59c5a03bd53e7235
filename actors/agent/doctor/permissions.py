"""The permissions that the node needs at the API server, asked of the server itself (SelfSubjectAccessReview)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from actors.cert_manager.remedies import BOOTSTRAPPERS
from actors.shared.api.remedies import of_rights
from actors.shared.kube.credential_sources import POD_CERTIFICATE_GATE, TRUST_BUNDLE_GATE
from supervision.time_scale import scaled

from .finding import Finding, failure, ok

RIGHTS: Final = "rights"
REVIEW_SECONDS: Final = 5.0
_CERTIFICATES: Final = "certificates.k8s.io"


class Permission(msgspec.Struct, frozen=True):
    """A permission that the node needs at the API server."""

    verb: str
    resource: str
    subresource: str = ""
    group: str = ""
    namespace: str = ""
    own_name: bool = False
    """On the object that has the node's name."""
    of_node: bool = False
    """On objects with the node's name as spec.nodeName."""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'/{self.subresource}' if self.subresource else ''}"


PERMISSIONS: Final = (
    Permission("get", "nodes", own_name=True),
    Permission("create", "nodes"),
    Permission("patch", "nodes", "status", own_name=True),
    Permission("update", "leases", group="coordination.k8s.io", namespace="kube-node-lease", own_name=True),
    Permission("list", "pods", of_node=True),
    Permission("patch", "pods", "status"),
    Permission("delete", "pods"),
    Permission("create", "events"),
    Permission("create", "certificatesigningrequests", group=_CERTIFICATES),
    Permission("list", "services"),
)
BY_GATE: Final[Mapping[str, tuple[Permission, ...]]] = {
    TRUST_BUNDLE_GATE: (Permission("list", "clustertrustbundles", group=_CERTIFICATES),),
    POD_CERTIFICATE_GATE: (
        Permission("create", "podcertificaterequests", group=_CERTIFICATES),
        Permission("list", "podcertificaterequests", group=_CERTIFICATES, of_node=True),
    ),
}
"""What a node needs, too, where the feature gate is on."""
REQUESTING: Final = tuple(
    Permission(verb, "certificatesigningrequests", group=_CERTIFICATES) for verb in ("create", "get", "watch")
)
"""The permissions for a node's first certificate."""


def requesting(api: Any, node: str) -> Iterator[Finding]:
    """Whether the credentials of the bootstrap kubeconfig may ask for a certificate."""
    missing = _not_allowed(api, node, REQUESTING)
    if missing:
        text = f"the API server does not let the bootstrap kubeconfig {', '.join(missing)}"
        yield failure(RIGHTS, text, BOOTSTRAPPERS)
    else:
        yield ok(RIGHTS, "the bootstrap kubeconfig may ask for a certificate")


def rights(api: Any, node: str, gates: Collection[str] = ()) -> Iterator[Finding]:
    """Whether the API server permits the requests of a node. `gates`: those of BY_GATE that are on."""
    wanted = (*PERMISSIONS, *(right for gate in gates for right in BY_GATE[gate]))
    missing = _not_allowed(api, node, wanted)
    if missing:
        text = f"the API server does not let this node {', '.join(missing)}"
        yield failure(RIGHTS, text, _remedy(api, node))
    else:
        yield ok(RIGHTS, f"all {len(wanted)} that were asked for")


def _remedy(api: Any, node: str) -> str:
    """By the name that the API server has for this node."""
    from kubernetes import client

    review: Any = client.AuthenticationV1Api(api).create_self_subject_review(
        client.V1SelfSubjectReview(), _request_timeout=scaled(REVIEW_SECONDS)
    )
    return of_rights(review.status.user_info.username, node)


def _not_allowed(api: Any, node: str, wanted: Sequence[Permission]) -> list[str]:
    from kubernetes import client

    missing = []
    for right in wanted:
        selector = client.V1FieldSelectorAttributes(
            requirements=[client.V1FieldSelectorRequirement(key="spec.nodeName", operator="In", values=[node])]
        )
        attributes = client.V1ResourceAttributes(
            verb=right.verb,
            resource=right.resource,
            subresource=right.subresource or None,
            group=right.group or None,
            namespace=right.namespace or None,
            name=node if right.own_name else None,
            field_selector=selector if right.of_node else None,
        )
        spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        review: Any = client.AuthorizationV1Api(api).create_self_subject_access_review(
            client.V1SelfSubjectAccessReview(spec=spec), _request_timeout=scaled(REVIEW_SECONDS)
        )
        if not review.status.allowed:
            missing.append(str(right))
    return missing
