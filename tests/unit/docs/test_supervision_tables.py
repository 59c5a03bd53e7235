"""The tables of docs/supervision.md name each fault and each cause that there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from supervision.process_messages import BY_ORDER, Cause
from supervision.protocol import Fault

DOCUMENT = (Path(__file__).parents[3] / "docs" / "supervision.md").read_text()


def first_column(heading: str) -> set[str]:
    _, _, table = DOCUMENT.partition(f"\n| {heading} | what ")
    rows, _, _ = table.partition("\n\n")
    cells = [line.split("|")[1] for line in rows.splitlines()[2:]]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_each_fault_that_can_be_injected_is_in_the_table_and_no_other() -> None:
    assert first_column("fault") == set(get_args(Fault))


def test_each_cause_of_an_incident_is_in_the_table_and_no_other() -> None:
    assert first_column("cause") == set(get_args(Cause)) - set(BY_ORDER)
