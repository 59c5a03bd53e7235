"""Amounts have the largest suffix that leaves them whole."""

from __future__ import annotations

import pytest

from actors.shared.kube.quantity_text import binary, canonical, decimal


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1000, "1k"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1536, "1536"),
        (-(2**20), "-1Mi"),
        (2**60, "1Ei"),
        (2**70, "1024Ei"),
        (2**80, "1048576Ei"),
    ],
)
def test_bytes_have_a_binary_suffix_up_to_exbibytes(amount: int, text: str) -> None:
    assert binary(amount) == text


@pytest.mark.parametrize(("amount", "text"), [(1500, "1500"), (10**18, "1E"), (10**21, "1000E"), (10**24, "1000000E")])
def test_numbers_have_a_decimal_suffix_up_to_exa(amount: int, text: str) -> None:
    assert decimal(amount) == text


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        ("1024Mi", "1Gi"),
        ("0.5Ki", "512"),
        ("1.5Gi", "1536Mi"),
        ("0.3Gi", "322122547200m"),
        ("1500000", "1500k"),
        ("1500e3", "1500e3"),
        ("1000E3", "1e6"),
        ("0.1e1", "1"),
        ("5E", "5E"),
        (".5", "500m"),
        ("1.0000000001", "1000000001n"),
        ("0Mi", "0"),
        (3000, "3k"),
    ],
)
def test_a_quantity_keeps_its_notation(quantity: str | int, text: str) -> None:
    assert canonical(quantity) == text
