"""Plain data is checked against types: nothing is converted but whole numbers of a float field."""

from __future__ import annotations

from typing import Any

import pytest

from supervision.documents.strict import BAD, Checker, Schema


def checked(kind: Any, value: Any) -> tuple[Any, list[str]]:
    """The value as `kind`, and the rules that it breaks."""
    rules: list[str] = []
    schema = Schema(bits=lambda path, members: 31)
    return Checker(schema, lambda path, value, rule: rules.append(rule)).check(kind, value), rules


@pytest.mark.parametrize("kind", [float, float | None])
def test_a_whole_number_is_a_value_of_a_float_field(kind: Any) -> None:
    found, rules = checked(kind, 1)
    assert (found, type(found), rules) == (1.0, float, [])
    assert checked(kind, 0.5) == (0.5, [])


@pytest.mark.parametrize(("kind", "value"), [(float, "1"), (float, True), (int, 1.0), (int, True), (str, 1), (bool, 1)])
def test_no_other_type_is_converted(kind: Any, value: Any) -> None:
    found, rules = checked(kind, value)
    assert found is BAD
    assert len(rules) == 1
    assert rules[0].startswith("must be ")


@pytest.mark.parametrize(
    ("value", "fits"), [(2**31 - 1, True), (2**31, False), (-(2**31), True), (-(2**31) - 1, False)]
)
def test_a_number_fits_in_the_bits_of_its_field(value: int, fits: bool) -> None:
    assert checked(int, value) == ((value, []) if fits else (BAD, ["must fit in 32 bits"]))
