"""What is told of the system's errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from supervision.errors import error_reason, error_text


def test_an_error_of_the_system_names_its_file_but_no_number(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError) as raised:
        missing.read_bytes()
    assert error_text(raised.value) == f"{missing}: No such file or directory"
    assert error_reason(raised.value) == "No such file or directory"


def test_both_files_of_a_rename_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        os.rename(tmp_path / "a", tmp_path / "b")
    assert error_text(raised.value) == f"{tmp_path}/a, {tmp_path}/b: No such file or directory"


def test_an_error_of_a_descriptor_names_no_file() -> None:
    with pytest.raises(OSError, match="descriptor") as raised:
        os.fstat(1 << 20)
    assert error_text(raised.value) == "Bad file descriptor"


def test_a_name_in_bytes_is_text() -> None:
    assert error_text(OSError(13, "Permission denied", b"/a")) == "/a: Permission denied"


@pytest.mark.parametrize(
    ("error", "text"), [(ValueError("bad port"), "bad port"), (TimeoutError(), "TimeoutError"), (OSError("odd"), "odd")]
)
def test_any_other_error_is_its_own_words_or_its_name(error: Exception, text: str) -> None:
    assert error_text(error) == error_reason(error) == text
