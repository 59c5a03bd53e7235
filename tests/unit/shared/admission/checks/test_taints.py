"""A pod is refused for a NoExecute taint that it does not tolerate."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.admission.checks.taints import untolerated_taint
from actors.shared.admission.node_object import read_node
from actors.shared.admission.request import NodeState, PodAdmitAttributes, demand_of
from actors.shared.kube.codec import decode_pod, encode


def refused(taint: dict[str, str], *tolerations: dict[str, str], **metadata: Any) -> bool:
    pod = decode_pod(encode({"metadata": metadata, "spec": {"tolerations": list(tolerations)}}))
    node = read_node(encode({"metadata": {"name": "n1"}, "spec": {"taints": [taint]}}))
    return (
        untolerated_taint(PodAdmitAttributes(pod, demand_of("u", pod)), NodeState(allocatable={}, object=node))
        is not None
    )


TAINT = {"key": "k", "value": "v", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Equal", "value": "v"}, False),
        ({"key": "k", "operator": "Odd", "value": "v"}, False),
    ],
)
def test_a_toleration_matches_by_key_value_and_effect(toleration: dict[str, str], tolerated: bool) -> None:
    assert refused(TAINT, toleration) is not tolerated


def test_only_no_execute_counts_and_not_for_static_pods() -> None:
    assert refused(TAINT)
    assert not refused({**TAINT, "effect": "NoSchedule"})
    assert not refused(TAINT, annotations={"kubernetes.io/config.source": "file"})
