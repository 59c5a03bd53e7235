"""Who may read the files of a volume."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.volume_manager.files import atomic
from actors.volume_manager.files.downward_fields import File

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root gives files away")
OWN = os.getgid()


async def test_a_file_has_its_owner_and_the_group_of_the_pod(tmp_path: Path) -> None:
    volume = tmp_path
    files = [File(path="token", data=b"t", mode=0o600, owner=1001), File(path="other", data=b"o", mode=0o600)]
    assert await atomic.write(str(volume), files, "..one", OWN + 1)
    token, other = (volume / "token").stat(), (volume / "other").stat()
    assert (token.st_uid, token.st_gid, token.st_mode & 0o777) == (1001, OWN + 1, 0o640)
    assert (other.st_uid, other.st_gid) == (os.getuid(), OWN + 1)
    assert [os.lstat(volume / name).st_uid for name in ("token", "other")] == [1001, os.getuid()]


async def test_a_file_with_an_owner_keeps_its_mode_where_the_pod_has_no_group(tmp_path: Path) -> None:
    volume = tmp_path
    assert await atomic.write(str(volume), [File(path="token", data=b"t", mode=0o600, owner=1001)], "..one", None)
    token = (volume / "token").stat()
    assert (token.st_uid, token.st_gid, token.st_mode & 0o777) == (1001, OWN, 0o600)
