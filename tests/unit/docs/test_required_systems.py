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
