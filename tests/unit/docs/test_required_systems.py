"""docs/required-systems.md names tests: they must be there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/required-systems.md").read_text()
NAMED = sorted(set(re.findall(r"([\w/]+\.py)::(test_\w+)", TEXT)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(|^    (async )?def {name}\(", (ROOT / "tests" / file).read_text(), re.M)


def test_every_row_says_how_to_see_it() -> None:
    rows = [line for line in TEXT.splitlines() if re.match(r"\| \d", line)]
    assert rows
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4
        assert all(cells)


def test_the_rows_are_in_order_and_each_is_there_once() -> None:
    numbers = [re.findall(r"\d+", cell) for cell in re.findall(r"^\| ([\d, ]+) \|", TEXT, re.M)]
    firsts = [int(cell[0]) for cell in numbers]
    every = [number for cell in numbers for number in cell]
    assert firsts == sorted(firsts)
    assert len(every) == len(set(every))
    start_up = [*range(1, 31), *range(39, 58), *range(60, 64), *range(67, 72), *range(74, 78), *range(82, 94)]
    assert {*start_up, 97, 98, 99, *range(115, 120), 121} <= {int(number) for number in every}
