"""What a label selector selects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.label_selector import LabelSelector, LabelSelectorError, selects_labels
from actors.shared.kube.node_selector import Requirement

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
WITH_VALUES = st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1))
REQUIREMENTS = WITH_VALUES | st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"]))
SELECTORS = st.builds(LabelSelector, matchLabels=LABELS, matchExpressions=st.lists(REQUIREMENTS, max_size=3))


@given(LABELS)
def test_a_missing_selector_selects_nothing_and_an_empty_one_everything(labels: dict[str, str]) -> None:
    assert not selects_labels(None, labels)
    assert selects_labels(LabelSelector(), labels)


@given(SELECTORS, LABELS)
def test_all_requirements_must_hold(selector: LabelSelector, labels: dict[str, str]) -> None:
    parts = [LabelSelector(matchLabels={key: value}) for key, value in selector.matchLabels.items()]
    parts += [LabelSelector(matchExpressions=[one]) for one in selector.matchExpressions]
    assert selects_labels(selector, labels) == all(selects_labels(part, labels) for part in parts)


@given(WITH_VALUES, LABELS)
def test_not_in_is_the_opposite_of_in_and_matches_without_the_label(one: Requirement, labels: dict[str, str]) -> None:
    inside, outside = (
        selects_labels(LabelSelector(matchExpressions=[Requirement(one.key, operator, one.values)]), labels)
        for operator in ("In", "NotIn")
    )
    assert inside is not outside
    assert inside is (labels.get(one.key) in (one.values or []))


@given(SELECTORS)
def test_a_selector_of_the_api_has_no_problems(selector: LabelSelector) -> None:
    assert list(selector.problems()) == []


def test_an_operator_that_there_is_not_is_an_error() -> None:
    with pytest.raises(LabelSelectorError, match='"Gt" is not a valid label selector operator'):
        selects_labels(LabelSelector(matchExpressions=[Requirement("a", "Gt", ["1"])]), {"a": "2"})
