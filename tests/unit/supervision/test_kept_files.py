"""The fault matrix knows each file that the agent keeps."""

from __future__ import annotations

from tests.support.kept_files import KEPT, SOURCES, writing_modules


def test_each_module_that_writes_private_state_has_a_row_in_the_fault_matrix() -> None:
    assert writing_modules() - {row.writer for row in KEPT} == set(), "add a row to tests/support/kept_files.py"


def test_each_row_of_the_fault_matrix_is_of_a_module_that_is_there() -> None:
    assert [row.writer for row in KEPT if not (SOURCES / row.writer).is_file()] == []
