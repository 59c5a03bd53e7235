"""The mirror of a static pod."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from actors.shared.kube.pod import Pod
from actors.status_manager.pods.api_pods import read
from actors.status_manager.pods.mirror import is_mirror_of, mirror_pod

METADATA: dict[str, Any] = {"name": "p", "namespace": "n", "uid": "u"}
HASH = "kubernetes.io/config.hash"
MIRROR = "kubernetes.io/config.mirror"


def mirror(**metadata: Any) -> dict[str, Any]:
    static = {"metadata": {**METADATA, **metadata}, "spec": {"containers": []}}
    found: dict[str, Any] = json.loads(mirror_pod(json.dumps(static).encode(), "node", "node-uid"))
    return found


def test_a_mirror_belongs_to_the_node_and_has_no_uid_of_its_own() -> None:
    metadata = mirror()["metadata"]
    assert metadata["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "node-uid", "controller": True}
    ]
    assert "uid" not in metadata


def test_a_mirror_names_the_version_of_its_static_pod() -> None:
    given = {HASH: "h", "a": "b"}
    assert mirror(annotations=given)["metadata"]["annotations"] == {**given, MIRROR: "h"}


@pytest.mark.parametrize(("given", "found"), [({"a": "b"}, {"a": "b"}), ({}, None), (None, None)])
def test_a_mirror_has_the_labels_of_its_static_pod(given: Any, found: Any) -> None:
    assert mirror(labels=given)["metadata"].get("labels") == found


@pytest.mark.parametrize(
    ("version", "more", "found"),
    [("h", {}, True), ("other", {}, False), ("h", {"deletionTimestamp": "2026-01-01T00:00:00Z"}, False)],
)
def test_a_mirror_of_another_version_or_that_is_being_deleted_is_not_the_mirror(
    version: str, more: dict[str, str], found: bool
) -> None:
    static = msgspec.convert({"metadata": {**METADATA, "annotations": {HASH: "h"}}}, Pod)
    there = read(json.dumps({"metadata": {**METADATA, **more, "annotations": {MIRROR: version}}}).encode())
    assert is_mirror_of(there, static) is found
