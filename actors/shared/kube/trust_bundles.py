"""ClusterTrustBundles (certificates.k8s.io): the fields that a node reads."""

from __future__ import annotations

from .meta import Api, ObjectMeta


class ClusterTrustBundleSpec(Api, frozen=True):
    signerName: str = ""
    trustBundle: str = ""
    """PEM."""


class ClusterTrustBundle(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterTrustBundleSpec = ClusterTrustBundleSpec()
