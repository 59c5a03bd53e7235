from __future__ import annotations

import json
from typing import Any

import pytest

from actors.eviction_manager.usage import local_volumes
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import grace_period, is_critical, limits_with_overhead, pod_requests
from actors.status_manager.reports.pods_to_evict import what_counts

LARGE = "x" * 100_000
RESOURCES = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi", "ephemeral-storage": "1Gi"}}
CONTAINER = {"name": "c", "image": "i", "env": [{"name": "E", "value": LARGE}], "args": [LARGE], "resources": RESOURCES}
VOLUMES = [
    {"name": "a", "emptyDir": {"sizeLimit": "1Gi"}},
    {"name": "b", "emptyDir": {"medium": "Memory"}},
    {"name": "c", "hostPath": {"path": "/x"}},
    {"name": "d", "configMap": {"name": "m"}},
    {"name": "e", "gitRepo": {"repository": "r"}},
    {"name": "f", "projected": {"sources": [{"configMap": {"name": LARGE}}]}},
]


def read(pod: Pod) -> list[Any]:
    """What the eviction manager reads of a pod."""
    meta, spec = pod.metadata, pod.spec
    return [
        *((meta.uid, meta.namespace, meta.name), grace_period(pod), is_critical(pod), spec.priority),
        *(pod_requests(pod), limits_with_overhead(pod), local_volumes(pod), spec.resources, spec.overhead),
        [volume.emptyDir for volume in spec.volumes],
        [(each.name, each.resources, each.restartPolicy) for each in (*spec.containers, *spec.initContainers)],
        spec.terminationGracePeriodSeconds,
    ]


@pytest.mark.parametrize(
    ("meta", "spec"),
    [
        ({}, {}),
        ({"labels": {"l": LARGE}, "annotations": {"a": LARGE}}, {"volumes": VOLUMES}),
        ({"annotations": {"kubernetes.io/config.source": "file"}}, {"priority": 3}),
        ({"annotations": {"kubernetes.io/config.mirror": "h"}}, {"priorityClassName": "system-node-critical"}),
        ({"deletionGracePeriodSeconds": 4}, {"priority": 2_000_001_000, "terminationGracePeriodSeconds": 9}),
        ({}, {"initContainers": [{**CONTAINER, "name": "i", "restartPolicy": "Always"}], "overhead": {"cpu": "1"}}),
        ({}, {"resources": {"requests": {"cpu": "3"}, "limits": {"memory": "9Gi"}}}),
    ],
)
def test_all_that_evictions_read_of_a_pod_stays_and_what_is_large_goes(
    meta: dict[str, Any], spec: dict[str, Any]
) -> None:
    pod = {"metadata": {"uid": "u", "namespace": "n", "name": "p", **meta}, "spec": {"containers": [CONTAINER], **spec}}
    given = json.dumps(pod).encode()
    found = what_counts(given)
    assert read(decode_pod(found)) == read(decode_pod(given))
    assert len(found) < 2000
