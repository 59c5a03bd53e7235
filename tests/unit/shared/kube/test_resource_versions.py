"""Versions as the API server orders them, and what it may say in their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.resource_versions import is_older, order

VERSIONS = st.integers(0, 10**30)


@given(VERSIONS, VERSIONS)
def test_versions_are_ordered_as_numbers(one: int, other: int) -> None:
    found = order(str(one), str(other))
    assert found is not None
    assert (found > 0) - (found < 0) == (one > other) - (one < other)
    assert is_older(str(one), str(other)) is (one < other)


def test_versions_may_have_any_number_of_digits() -> None:
    assert is_older("7" * 9_999, "1" + "0" * 9_999)


@pytest.mark.parametrize("rubbish", ["", "-1", "1.5", "1e9", "x", "²", "٣", "07", " 1", "1\n"])
def test_a_version_that_is_not_a_number_has_no_order(rubbish: str) -> None:
    assert order(rubbish, "5") is None
    assert order("5", rubbish) is None
    assert not is_older(rubbish, "5")
    assert not is_older("5", rubbish)
