"""Quantities are read exactly and rounded up, as the API machinery does."""

from __future__ import annotations

from fractions import Fraction

import pytest

from actors.shared.kube.quantity import QuantityError, milli, parse, quantity_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100m", Fraction(1, 10)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("1.", Fraction(1)),
        (".5", Fraction(1, 2)),
        ("-2", Fraction(-2)),
        ("+2", Fraction(2)),
        ("1e3", Fraction(1000)),
        ("1E-3", Fraction(1, 1000)),
        ("1E", Fraction(10**18)),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("3k", Fraction(3000)),
        ("2Ki", Fraction(2048)),
        ("1Ei", Fraction(2**60)),
        (2, Fraction(2)),
    ],
)
def test_a_quantity_has_an_exact_value(text: str | int, value: Fraction) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    "text", ["", "1 Gi", "Gi", "1.5.2", "1ki", "1e", "1e65", "1e-65", "0x1", "٣", True, False, "1" * 65]
)
def test_anything_else_is_refused(text: str | bool) -> None:
    with pytest.raises(QuantityError):
        parse(text)


def test_the_longest_number_and_the_largest_exponent_are_read() -> None:
    assert parse("1" * 64) == int("1" * 64)
    assert parse("1e64") == 10**64


def test_thousandths_and_units_are_rounded_up() -> None:
    assert [milli("1"), milli("1n"), milli("1.0001"), milli("-1.5m")] == [1000, 1, 1001, -1]
    assert [quantity_value("1"), quantity_value("1m"), quantity_value("1.5Ki"), quantity_value("-0.5")] == [
        1,
        1,
        1536,
        0,
    ]
