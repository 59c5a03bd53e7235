"""Node selectors match by labels and by the node's name."""

from __future__ import annotations

import pytest

from actors.shared.kube.node_selector import NodeSelector, NodeSelectorTerm, Requirement, selects

LABELS = {"zone": "a", "cores": "8", "name": "x"}


def matches(*terms: NodeSelectorTerm) -> bool:
    return selects(NodeSelector(list(terms)), "n1", LABELS)


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("zone", "In", ["a", "b"], True),
        ("zone", "In", ["b"], False),
        ("none", "In", ["a"], False),
        ("zone", "NotIn", ["b"], True),
        ("zone", "NotIn", ["a"], False),
        ("none", "NotIn", ["a"], True),
        ("zone", "Exists", None, True),
        ("none", "Exists", None, False),
        ("zone", "DoesNotExist", None, False),
        ("none", "DoesNotExist", None, True),
        ("cores", "Gt", ["7"], True),
        ("cores", "Gt", ["8"], False),
        ("cores", "Lt", ["9"], True),
        ("cores", "Lt", ["8"], False),
        ("none", "Lt", ["9"], False),
        ("zone", "Gt", ["1"], False),
        ("cores", "Gt", [], False),
        ("cores", "Gt", ["7", "6"], False),
        ("cores", "Gt", ["-1"], False),
        ("cores", "Lt", ["1_0"], False),
        ("cores", "Lt", [" 9"], False),
        ("cores", "Lt", ["9223372036854775807"], True),
        ("cores", "Lt", ["9223372036854775808"], False),
        ("cores", "Near", ["8"], False),
    ],
)
def test_each_operator_compares_a_label(key: str, operator: str, values: list[str] | None, expected: bool) -> None:
    assert matches(NodeSelectorTerm([Requirement(key, operator, values)])) is expected


def test_all_of_a_term_must_hold_and_one_term_suffices() -> None:
    here, there = Requirement("zone", "In", ["a"]), Requirement("zone", "In", ["b"])
    named, other = Requirement("metadata.name", "In", ["n1"]), Requirement("metadata.name", "In", ["n2"])
    assert not matches(NodeSelectorTerm([here, there]))
    assert matches(NodeSelectorTerm([there]), NodeSelectorTerm([here]))
    assert matches(NodeSelectorTerm([here], [named]))
    assert not matches(NodeSelectorTerm([here], [other]))
    assert not matches(NodeSelectorTerm([there], [named]))


def test_an_empty_term_and_an_empty_selector_match_nothing() -> None:
    assert not matches(NodeSelectorTerm())
    assert not matches()
