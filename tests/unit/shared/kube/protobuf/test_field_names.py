"""The messages have every field that the agent's own types of objects read, by the same name."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.shared.kube.protobuf.kinds import descriptor_of
from actors.shared.kube.resource_claim_objects import ResourceClaim
from actors.shared.kube.trust_bundles import ClusterTrustBundle
from tests.support.message_fields import unnamed


@pytest.mark.parametrize(
    ("struct", "version"),
    [
        (PersistentVolume, "v1"),
        (PersistentVolumeClaim, "v1"),
        (ResourceClaim, "resource.k8s.io/v1"),
        (ClusterTrustBundle, "certificates.k8s.io/v1beta1"),
    ],
)
def test_each_field_that_is_read_is_in_the_message(struct: Any, version: str) -> None:
    message = descriptor_of(version, struct.__name__)
    assert message is not None
    missing = unnamed(struct, message, struct.__name__)
    assert {path for path in missing if path.rpartition(".")[2] not in ("kind", "apiVersion")} == set()
