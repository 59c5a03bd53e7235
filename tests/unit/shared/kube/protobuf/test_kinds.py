"""Kinds and collections that are there in protobuf."""

from __future__ import annotations

import pytest

from actors.shared.kube.protobuf.kinds import collection_of, descriptor_of


@pytest.mark.parametrize(
    ("path", "collection"),
    [
        ("/api/v1/pods", "v1/pods"),
        ("/api/v1/nodes/n1", "v1/nodes"),
        ("/api/v1/nodes/n1/status", "v1/nodes"),
        ("/api/v1/namespaces/pods/pods/secrets/status", "v1/pods"),
        ("/api/v1/namespaces/default/serviceaccounts/a/token", "v1/serviceaccounts"),
        ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", "coordination.k8s.io/v1/leases"),
        ("/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1/csidrivers"),
        ("/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1/tokenreviews"),
        *((path, "") for path in (
            "/api/v1/namespaces/pods", "/api/v1/namespaces", "/api/v1/endpoints", "/api/v1", "/api", "/readyz", "/", "",
            "/apis/storage.k8s.io/v1beta1/csidrivers", "/apis/example.com/v1/pods", "/apis/storage.k8s.io",
        )),
    ],
)  # fmt: skip
def test_a_path_is_of_a_collection(path: str, collection: str) -> None:
    assert collection_of(path) == collection


@pytest.mark.parametrize(
    ("version", "kind", "name"),
    [
        ("v1", "Pod", "k8s.io.api.core.v1.Pod"),
        ("v1", "NodeList", "k8s.io.api.core.v1.NodeList"),
        ("v1", "Status", "k8s.io.meta.Status"),
        ("v1", "DeleteOptions", "k8s.io.meta.DeleteOptions"),
        ("authentication.k8s.io/v1", "TokenRequest", "k8s.io.api.reviews.TokenRequest"),
        ("certificates.k8s.io/v1alpha1", "ClusterTrustBundleList", "k8s.io.api.certificates.ClusterTrustBundleList"),
        ("v1", "Container", None),
        ("v1", "Endpoints", None),
        ("v1", "StatusList", None),
        ("v1", "", None),
        ("v1", "List", None),
        ("v2", "Pod", None),
        ("", "", None),
        ("authentication.k8s.io/v1", "TokenReviewList", None),
    ],
)
def test_a_kind_has_its_message(version: str, kind: str, name: str | None) -> None:
    found = descriptor_of(version, kind)
    assert (found.full_name if found is not None else None) == name
