"""docs/required-systems.md has every row of the list, with a state and with tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/required-systems.md").read_text()
NAMED = sorted(set(re.findall(r"([\w/]+\.py)::(test_\w+)", TEXT)))
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TEXT.splitlines() if line.startswith("| ")]
NUMBERED = [row for row in ROWS if row[0].isdigit()]
BESIDE = [row for row in ROWS if len(row) == 3]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_each_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(|^    (async )?def {name}\(", (ROOT / "tests" / file).read_text(), re.M)


def test_the_numbers_are_those_of_the_list_in_its_order() -> None:
    assert [int(row[0]) for row in NUMBERED] == list(range(1, 123))


def test_every_row_has_a_state_and_names_a_test() -> None:
    head = ["system or capability", "state", "tests that show it"]
    assert [row for row in ROWS if row not in NUMBERED and row not in BESIDE] == [["row", *head]]
    for *_, state, tests in [*NUMBERED, *(row for row in BESIDE if row != head)]:
        assert re.match(r"works(: .|$)|in part: .|not yet: .|superseded(: | by ).", state), state
        for test in tests.split(", "):
            assert re.fullmatch(r"[\w/]+\.py(::test_\w+)?", test), test


def test_an_open_row_names_its_issue() -> None:
    for *_, state, _tests in [*NUMBERED, *BESIDE]:
        if state.startswith("not yet"):
            assert re.search(r"issue \d+|storage", state), state
