"""What the Node object says against a pod: labels and taints; and another operating system."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.shared.admission.checks.node_affinity import node_matters, unmatched_affinity
from actors.shared.admission.checks.operating_system import other_os
from actors.shared.admission.checks.taints import untolerated_taint
from actors.shared.admission.node_object import NodeObject, read_node
from actors.shared.admission.request import NodeState, PodAdmitAttributes, demand_of
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import Pod

LABELS = {"zone": "a", "size": "8", "kubernetes.io/os": "linux"}


def node(*taints: dict[str, str], **labels: str) -> NodeObject:
    body = {"metadata": {"name": "n1", "labels": {**LABELS, **labels}}, "spec": {"taints": list(taints)}}
    found = read_node(msgspec.json.encode(body))
    assert found is not None
    return found


def pod(**spec: Any) -> Pod:
    annotations, labels = spec.pop("annotations", {}), spec.pop("labels", {})
    whole = {"containers": [{"name": "a", "image": "i"}], **spec}
    metadata = {"name": "p", "namespace": "d", "uid": "u", "annotations": annotations, "labels": labels}
    return decode_pod(msgspec.json.encode({"metadata": metadata, "spec": whole}))


def requiring(*terms: dict[str, Any]) -> Pod:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return pod(affinity={"nodeAffinity": required})


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def refused(pod: Pod, known: NodeObject | None) -> str:
    """The reasons of all checks that read the Node object."""
    candidate, state = PodAdmitAttributes(pod, demand_of("u", pod)), NodeState(allocatable={}, object=known)
    found = [check(candidate, state) for check in (unmatched_affinity, untolerated_taint, other_os)]
    return ",".join(one.reason for one in found if one is not None)


def test_a_pod_without_requests_fits() -> None:
    assert refused(pod(), node()) == ""
    assert refused(pod(affinity={"podAffinity": {}}), node()) == ""


def test_every_label_of_the_selector_must_be_there() -> None:
    assert refused(pod(nodeSelector={"zone": "a"}), node()) == ""
    assert refused(pod(nodeSelector={"zone": "a", "more": "x"}), node()) == "NodeAffinity"


@pytest.mark.parametrize(
    ("term", "fits"),
    [
        (expression("zone", "In", "a", "b"), True),
        (expression("zone", "In", "b"), False),
        (expression("zone", "NotIn", "b"), True),
        (expression("none", "NotIn", "b"), True),
        (expression("zone", "Exists"), True),
        (expression("none", "Exists"), False),
        (expression("none", "DoesNotExist"), True),
        (expression("size", "Gt", "7"), True),
        (expression("size", "Gt", "8"), False),
        (expression("size", "Lt", "9"), True),
        (expression("zone", "Gt", "1"), False),
        (expression("zone", "Like", "a"), False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}, False),
        ({}, False),
    ],
)
def test_a_term_of_the_node_affinity_matches_by_its_requirements(term: dict[str, Any], fits: bool) -> None:
    assert (refused(requiring(term), node()) == "") is fits


def test_one_matching_term_is_enough_and_no_term_never_matches() -> None:
    assert refused(requiring(expression("zone", "In", "b"), expression("zone", "In", "a")), node()) == ""
    assert refused(requiring(), node()) == "NodeAffinity"


def test_only_taints_that_forbid_execution_count_and_not_for_static_pods() -> None:
    gone = {"key": "gone", "value": "yes", "effect": "NoExecute"}
    assert refused(pod(), node({"key": "k", "effect": "NoSchedule"})) == ""
    assert refused(pod(), node(gone)) == "TaintToleration"
    assert refused(pod(tolerations=[{"key": "gone", "value": "yes"}]), node(gone)) == ""
    assert refused(pod(tolerations=[{"key": "gone", "value": "no"}]), node(gone)) == "TaintToleration"
    assert refused(pod(tolerations=[{"operator": "Exists"}]), node(gone)) == ""
    assert refused(pod(tolerations=[{"key": "gone", "operator": "Exists", "effect": "NoSchedule"}]), node(gone))
    assert refused(pod(annotations={"kubernetes.io/config.source": "file"}), node(gone)) == ""


def test_another_operating_system_is_refused_by_label_and_by_field_as_by_the_kubelet() -> None:
    assert refused(pod(os={"name": "windows"}), None) == "PodOSNotSupported"
    assert refused(pod(os={"name": "linux"}), node()) == ""
    labelled = pod(labels={"kubernetes.io/os": "windows"})
    assert refused(labelled, node()) == "PodOSSelectorNodeLabelDoesNotMatch"
    assert refused(pod(nodeSelector={"kubernetes.io/os": "windows"}), node()) == "NodeAffinity"


def test_without_a_node_object_neither_labels_nor_taints_are_checked() -> None:
    assert refused(pod(nodeSelector={"more": "x"}), None) == ""
    static = {"annotations": {"kubernetes.io/config.source": "file"}}
    assert [node_matters(one) for one in (pod(), pod(**static), pod(**static, nodeSelector={"a": "b"}))] == [
        True,
        False,
        True,
    ]


def test_an_invalid_affinity_fits_nowhere() -> None:
    assert refused(pod(affinity={"nodeAffinity": 5}), node()) == "NodeAffinity"


def test_data_that_is_not_a_node_gives_no_node() -> None:
    assert read_node(b"[]") is None
    assert read_node(b'{"metadata": {"labels": null}}') == NodeObject()
    assert read_node(b'{"status": {"allocatable": {"example.com/thing": "many"}}}') is None


def test_only_the_extended_resources_of_a_node_are_read() -> None:
    body = b'{"status": {"allocatable": {"cpu": "2", "hugepages-2Mi": "0", "example.com/thing": "2k"}}}'
    assert read_node(body) == NodeObject(extended={"example.com/thing": 2000})
    static = {"annotations": {"kubernetes.io/config.source": "file"}}
    wanting = [{"name": "a", "resources": {"limits": {"example.com/thing": "1"}}}]
    assert node_matters(pod(**static, containers=wanting))
    assert not node_matters(pod(**static, containers=[{"name": "a", "resources": {"limits": {"cpu": "1"}}}]))
