"""The `kubernetes` package's own client against the API server of the tests: it is taken for a real one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.apiserver import ApiServer

POD = {
    "metadata": {"name": "p", "labels": {"app": "a"}},
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]},
}


def drive(kubeconfig: str) -> dict[str, Any]:
    """What a client finds at each step of a pod's life."""
    from kubernetes import client, config, watch

    api: Any = client.CoreV1Api(config.new_client_from_config(kubeconfig))
    made = api.create_namespaced_pod("default", POD)
    version = api.list_namespaced_pod("default", label_selector="app=a").metadata.resource_version
    api.patch_namespaced_pod("p", "default", {"metadata": {"labels": {"more": "b"}}})
    events = watch.Watch().stream(
        api.list_namespaced_pod,
        "default",
        resource_version=version,
        timeout_seconds=5,
        field_selector="metadata.name=p",
    )
    seen = next(iter(events))
    api.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    with pytest.raises(client.ApiException) as gone:
        api.read_namespaced_pod("p", "default")
    return {
        "made": (made.metadata.name, made.spec.containers[0].resources.requests["cpu"]),
        "seen": (seen["type"], seen["object"].metadata.labels["more"]),
        "gone": gone.value.status,
        "nodes": [one.metadata.name for one in api.list_node().items],
    }


def test_a_pod_is_made_listed_changed_watched_and_deleted(tmp_path: Path) -> None:
    async def story() -> dict[str, Any]:
        async with ApiServer(tmp_path) as server:
            return await asyncio.to_thread(drive, server.kubeconfig())

    found = asyncio.run(story())
    assert found["made"] == ("p", "100m")
    assert found["seen"] == ("MODIFIED", "b")
    assert found["gone"] == 404
    assert found["nodes"] == []
