"""The API's grammars of names: where each begins to refuse."""

from __future__ import annotations

import pytest

from actors.shared.config.fields.names import is_subdomain, wrong_label_value, wrong_node_label, wrong_qualified_name


@pytest.mark.parametrize("name", ["a", "A_b.c-9", "n" * 63, "example.com/a"])
def test_a_qualified_name_is_a_name_of_up_to_63_letters_with_or_without_a_domain(name: str) -> None:
    assert wrong_qualified_name(name) == ""


@pytest.mark.parametrize("name", ["", "n" * 64, "-a", "a-", "a b", "example.com/", "example.com/" + "n" * 64])
def test_another_name_is_refused(name: str) -> None:
    assert wrong_qualified_name(name).startswith("must be a name of at most 63 letters")


@pytest.mark.parametrize("prefix", ["", "Example.com", "a..b"])
def test_a_prefix_is_a_subdomain(prefix: str) -> None:
    assert wrong_qualified_name(f"{prefix}/a") == "must have a DNS subdomain before the /"


@pytest.mark.parametrize(
    ("value", "valid"), [("", True), ("v" * 63, True), ("v" * 64, False), ("a b", False), ("-a", False)]
)
def test_a_label_value_may_be_empty(value: str, valid: bool) -> None:
    assert (wrong_label_value(value) == "") is valid


@pytest.mark.parametrize(
    ("text", "valid"), [("node-1.example.com", True), ("n" * 253, True), ("n" * 254, False), ("Node", False)]
)
def test_a_subdomain_is_in_lower_case_and_has_up_to_253_letters(text: str, valid: bool) -> None:
    assert is_subdomain(text) is valid


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("role", True),
        ("example.com/role", True),
        ("kubernetes.io/os", True),
        ("node.kubernetes.io/any", True),
        ("sub.node.kubernetes.io/any", True),
        ("kubernetes.io/any", False),
        ("node-role.kubernetes.io/worker", False),
        ("k8s.io/any", False),
        ("notk8s.io/any", True),
    ],
)
def test_a_node_sets_few_labels_of_kubernetes_on_itself(key: str, allowed: bool) -> None:
    assert (wrong_node_label(key) == "") is allowed
