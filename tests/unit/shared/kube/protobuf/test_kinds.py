"""Kinds and collections that are there in protobuf."""

from __future__ import annotations

import pytest

from actors.shared.kube.protobuf.kinds import descriptor_of, is_known


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/api/v1/pods", True),
        ("/api/v1/nodes/n1", True),
        ("/api/v1/nodes/n1/status", True),
        ("/api/v1/namespaces/pods/pods/secrets/status", True),
        ("/api/v1/namespaces/default/serviceaccounts/a/token", True),
        ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", True),
        ("/apis/storage.k8s.io/v1/csidrivers", True),
        ("/apis/authentication.k8s.io/v1/tokenreviews", True),
        ("/api/v1/namespaces/pods", False),
        ("/api/v1/namespaces", False),
        ("/api/v1/endpoints", False),
        ("/apis/storage.k8s.io/v1beta1/csidrivers", False),
        ("/apis/example.com/v1/pods", False),
        ("/api/v1", False),
        ("/api", False),
        ("/apis/storage.k8s.io", False),
        ("/readyz", False),
        ("/", False),
        ("", False),
    ],
)
def test_a_path_is_of_a_collection(path: str, known: bool) -> None:
    assert is_known(path) == known


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
