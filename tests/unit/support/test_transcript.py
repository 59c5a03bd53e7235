"""A word that a program no longer says is found in a transcript; a number, a width and a left out line are not."""

from __future__ import annotations

import pytest

from tests.support.transcript import Step, missing, only, steps

DOCUMENT = """\
# Top

## One

```text
# supervise status
ready: 22 of 22, up 1.9s
```

then

```text
# supervise pods
NAME  AGE
...
$ web   3s
```

## Two

```text
# other
```
"""


def test_the_boxes_below_a_heading_are_commands_with_their_answers() -> None:
    assert steps(DOCUMENT, "One") == [
        Step("supervise status", ("ready: 22 of 22, up 1.9s",)),
        Step("supervise pods", ("NAME  AGE", "...", "$ web   3s")),
    ]
    assert steps(DOCUMENT, "Two") == [Step("other", ())]


@pytest.mark.parametrize(
    ("shown", "answered", "wrong"),
    [
        (["up 1.9s"], ["up   12m"], ""),
        (["up 1.9s"], ["down 1.9s"], "up 1.9s"),
        (["a", "b"], ["a"], "b"),
        (["a"], ["a", "b"], "(the end; the answer goes on with: b)"),
        (["a", "c"], ["a", "b", "c"], "c"),
        (["a", "...", "c"], ["a", "b", "c"], ""),
        (["a", "..."], ["a", "b", "c"], ""),
        (["...", "b", "a"], ["a", "b"], "a"),
    ],
)
def test_the_first_line_that_is_not_answered_is_found(shown: list[str], answered: list[str], wrong: str) -> None:
    assert missing(shown, answered) == wrong


def test_findings_are_taken_with_their_remedies() -> None:
    lines = ["ok    disk: free", "FAIL  clock: late", "      -> set it", "ok    dns", "5 findings"]
    assert only(lines, ["clock"]) == ["...", "FAIL  clock: late", "      -> set it", "..."]
