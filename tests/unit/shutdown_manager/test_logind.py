"""The configuration file that raises logind's longest delay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shutdown_manager import logind
from actors.shutdown_manager.logind import DROP_IN, LogindError


@pytest.fixture
def narrow_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("narrow_umask")
def test_the_delay_is_written_in_whole_seconds_and_readable_whatever_the_umask_is(tmp_path: Path) -> None:
    directory = tmp_path / "logind.conf.d"
    for _ in range(2):
        logind._write_drop_in(str(directory), 30.2)
    written = directory / DROP_IN
    assert written.read_text().splitlines()[1:] == ["[Login]", "InhibitDelayMaxSec=31"]
    assert written.stat().st_mode & 0o777 == 0o644


def test_a_delay_that_cannot_be_written_is_an_error_with_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LogindError, match=f"{tmp_path}/file/{DROP_IN} cannot be written: "):
        logind._write_drop_in(str(tmp_path / "file"), 30.0)
