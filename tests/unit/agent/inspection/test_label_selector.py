from __future__ import annotations

import pytest

from actors.agent.inspection.label_selector import matches, parse

LABELS = {"app": "web", "tier": "", "example.com/part": "a.b_c"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", True), ("app=web", True), ("app==web", True), ("app = web", True), ("app=db", False), ("app!=web", False),
        ("app!=db", True), ("other!=x", True), ("other=x", False), ("tier=", True), ("app", True), ("!app", False),
        ("other", False), ("! other", True), ("app in (web, db)", True), ("app in (db)", False),
        ("app notin (web)", False), ("other notin (x)", True), ("example.com/part=a.b_c", True),
        ("app=web,tier", True), ("app in (db,web),!other,tier=", True), ("app=web,other", False),
    ],
)  # fmt: skip
def test_a_selector_matches_as_kubectl_has_it(selector: str, expected: bool) -> None:
    assert matches(parse(selector), LABELS) is expected


@pytest.mark.parametrize("selector", ["a b", "=x", "a=b=c", "a in b", "a in (b", ",", "a=b,", "a in (b c)", "a>1"])
def test_a_wrong_label_selector_is_named(selector: str) -> None:
    with pytest.raises(ValueError, match="is no label selector as app=web"):
        parse(selector)
