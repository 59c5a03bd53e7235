"""Volumes of files that cannot be written whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.volume_manager.files import atomic
from actors.volume_manager.files.downward_fields import File
from supervision.errors import error_text

GOOD = File(path="a", data=b"one", mode=0o644)
TOO_LONG = File(path="b" * 256, data=b"two", mode=0o644)


async def test_an_attempt_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="name too long"):
        await atomic.write(str(tmp_path), [GOOD, TOO_LONG], "..1", None)
    assert os.listdir(tmp_path) == []


async def test_attempts_that_fail_in_the_same_way_have_the_same_text(tmp_path: Path) -> None:
    texts = set()
    for stamp in ("..2", "..3"):
        with pytest.raises(OSError) as raised:
            await atomic.write(str(tmp_path), [GOOD, TOO_LONG], stamp, None)
        texts.add(error_text(raised.value))
    assert texts == {f"{tmp_path}/{TOO_LONG.path}: File name too long"}


async def test_a_change_that_fails_keeps_the_files_as_they_were(tmp_path: Path) -> None:
    await atomic.write(str(tmp_path), [GOOD], "..1", None)
    for stamp in ("..2", "..3"):
        with pytest.raises(OSError, match="name too long"):
            await atomic.write(str(tmp_path), [GOOD, TOO_LONG], stamp, None)
    assert sorted(os.listdir(tmp_path)) == ["..1", "..data", "a"]
    assert (tmp_path / "a").read_bytes() == b"one"
