"""Whether a pod fits what its Node object says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.pod_workers.admission.node_fit import NodeFacts, read_node, unfit
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import Pod

LABELS = {"zone": "a", "size": "8", "kubernetes.io/os": "linux"}


def node(*taints: dict[str, str], **labels: str) -> NodeFacts:
    body = {"metadata": {"name": "n1", "labels": {**LABELS, **labels}}, "spec": {"taints": list(taints)}}
    found = read_node(msgspec.json.encode(body))
    assert found is not None
    return found


def pod(**spec: Any) -> Pod:
    annotations = spec.pop("annotations", {})
    whole = {"containers": [{"name": "a", "image": "i"}], **spec}
    metadata = {"name": "p", "namespace": "d", "uid": "u", "annotations": annotations}
    return decode_pod(msgspec.json.encode({"metadata": metadata, "spec": whole}))


def requiring(*terms: dict[str, Any]) -> Pod:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return pod(affinity={"nodeAffinity": required})


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_a_pod_that_asks_for_nothing_fits() -> None:
    assert unfit(pod(), node()) == ("", "")
    assert unfit(pod(affinity={"podAffinity": {}}), node()) == ("", "")


def test_every_label_of_the_selector_must_be_there() -> None:
    assert unfit(pod(nodeSelector={"zone": "a"}), node()) == ("", "")
    assert unfit(pod(nodeSelector={"zone": "a", "more": "x"}), node())[0] == "NodeAffinity"


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
def test_a_term_of_the_affinity_is_judged(term: dict[str, Any], fits: bool) -> None:
    assert (unfit(requiring(term), node()) == ("", "")) is fits


def test_one_of_the_terms_is_enough_and_none_is_never() -> None:
    assert unfit(requiring(expression("zone", "In", "b"), expression("zone", "In", "a")), node()) == ("", "")
    assert unfit(requiring(), node())[0] == "NodeAffinity"


def test_only_taints_that_forbid_execution_count_and_not_for_static_pods() -> None:
    gone = {"key": "gone", "value": "yes", "effect": "NoExecute"}
    assert unfit(pod(), node({"key": "k", "effect": "NoSchedule"})) == ("", "")
    assert unfit(pod(), node(gone))[0] == "TaintToleration"
    assert unfit(pod(tolerations=[{"key": "gone", "value": "yes"}]), node(gone)) == ("", "")
    assert unfit(pod(tolerations=[{"key": "gone", "value": "no"}]), node(gone))[0] == "TaintToleration"
    assert unfit(pod(tolerations=[{"operator": "Exists"}]), node(gone)) == ("", "")
    assert unfit(pod(tolerations=[{"key": "gone", "operator": "Exists", "effect": "NoSchedule"}]), node(gone))[0]
    assert unfit(pod(annotations={"kubernetes.io/config.source": "file"}), node(gone)) == ("", "")


def test_another_system_is_refused() -> None:
    assert unfit(pod(os={"name": "windows"}), node())[0] == "PodOSNotSupported"
    assert unfit(pod(os={"name": "linux"}), node()) == ("", "")
    foreign = node(**{"kubernetes.io/os": "windows"})
    assert unfit(pod(nodeSelector={"kubernetes.io/os": "windows"}), foreign)[0] == "PodOSSelectorNodeLabelDoesNotMatch"


def test_an_affinity_that_is_none_fits_nowhere() -> None:
    assert unfit(pod(affinity={"nodeAffinity": 5}), node())[0] == "NodeAffinity"


def test_what_is_no_node_tells_nothing() -> None:
    assert read_node(b"[]") is None
    assert read_node(b'{"metadata": {"labels": null}}') == NodeFacts()
