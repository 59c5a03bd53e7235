"""`$(NAME)` in commands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.variable_expansion import MOST_OF_ONE, MOST_TOGETHER, ExpansionError, expand, expand_all


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"), ("x$(A)y$(B)", "x1y2"), ("$(C)", "$(C)"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$A", "$A"),
        ("$", "$"), ("$$", "$"), ("$(A", "$(A"), ("$()", "$()"), ("$($(A))", "$($(A))"), ("a$", "a$"),
    ],
)  # fmt: skip
def test_known_variables_are_expanded_and_others_stay(text, expected):
    assert expand(text, {"A": "1", "B": "2"}) == expected


@given(st.text("$()AB"))
def test_a_value_is_never_expanded_again(text):
    assert "BOOM" not in expand(text, {"A": "$(B)", "B": "$(X)", "X": "BOOM"})


@given(st.text().filter(lambda text: "$" not in text))
def test_text_without_a_dollar_stays_as_it_is(text):
    assert expand(text, {"A": "1"}) == text


@given(st.text("$()AB ", max_size=30))
def test_any_text_is_read_from_left_to_right(text):
    values = {"A": "1", "": "2"}

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] is None else values.get(found[1], found[0])

    assert expand(text, values) == re.sub(r"\$(?:\$|\(([^)]*)\))", value, text)


def test_arguments_that_the_kernel_would_refuse_are_refused():
    assert len(expand("$(A)", {"A": "x" * MOST_OF_ONE})) == MOST_OF_ONE
    with pytest.raises(ExpansionError, match=r"'\$\(A\)\$\(A\)' becomes longer than"):
        expand("$(A)$(A)", {"A": "x" * MOST_OF_ONE})
    with pytest.raises(ExpansionError, match="arguments or environment exceed"):
        expand_all(["$(A)"] * (MOST_TOGETHER // MOST_OF_ONE + 1), {"A": "x" * MOST_OF_ONE})
    assert len(expand_all(["$(A)"] * 3, {"A": "x" * MOST_OF_ONE})) == 3
