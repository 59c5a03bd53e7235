"""`$(NAME)` in commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers.expansion import expand


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"), ("x$(A)y$(B)", "x1y2"), ("$(C)", "$(C)"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$A", "$A"),
        ("$", "$"), ("$$", "$"), ("$(A", "$(A"), ("$()", "$()"), ("$($(A))", "$($(A))"), ("a$", "a$"),
    ],
)  # fmt: skip
def test_what_is_known_is_put_in_and_the_rest_stays(text, expected):
    assert expand(text, {"A": "1", "B": "2"}) == expected


@given(st.text("$()AB"))
def test_a_value_is_never_expanded_again(text):
    assert "BOOM" not in expand(text, {"A": "$(B)", "B": "$(X)", "X": "BOOM"})


@given(st.text().filter(lambda text: "$" not in text))
def test_text_without_a_dollar_stays_as_it_is(text):
    assert expand(text, {"A": "1"}) == text
