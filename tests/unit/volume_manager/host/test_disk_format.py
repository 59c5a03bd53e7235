"""What is on a device, with a script in blkid's place, and what is never formatted."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from actors.volume_manager.host import disk_format
from actors.volume_manager.host.disk_format import check_free, format_of, mount_device


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of the node; mkfs notes that it ran."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    write(tmp_path, "mkfs.ext4", f"touch {tmp_path}/formatted")
    return tmp_path


def write(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("exit 2", ""),
        ("echo DEVNAME=/dev/x; echo TYPE=xfs", "xfs"),
        ("echo TYPE=LVM2_member", "LVM2_member"),
        ("echo PTTYPE=gpt", "unknown data, probably partitions"),
        ("echo DEVNAME=/dev/x; echo PART_ENTRY_NUMBER=1", ""),
    ],
)
def test_the_format_is_what_blkid_reports(programs: Path, script: str, found: str) -> None:
    write(programs, "blkid", script)
    assert format_of("/dev/x", 10.0) == found


@pytest.mark.parametrize(
    "script",
    [
        "echo 'blkid: error: /dev/x: No medium found'; exit 2",
        "echo 'ambivalent result' >&2; exit 8",
        "exit 4",
        "echo TYPE",
        "kill -9 $$",
        "exec sleep 60",
    ],
)
def test_a_device_that_blkid_does_not_understand_is_not_empty(programs: Path, script: str) -> None:
    write(programs, "blkid", script)
    with pytest.raises(OSError, match="blkid"):
        format_of("/dev/x", 1.0)


def test_only_block_devices_are_formatted(programs: Path) -> None:
    write(programs, "blkid", "exit 2")
    for path in (programs / "file", programs):
        if path != programs:
            path.write_text("kept")
        with pytest.raises(OSError, match="Block device required"):
            mount_device(str(path), f"{programs}/at", "", [], 10.0)
    assert not (programs / "formatted").exists()
    assert not (programs / "at").exists()


def test_a_device_that_cannot_be_read_is_not_free(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(bytes(4096))
    for flags, is_free in ((os.O_RDONLY, True), (os.O_WRONLY, False)):
        fd = os.open(path, flags)
        try:
            if is_free:
                check_free(str(path), fd)
            else:
                with pytest.raises(OSError, match="Bad file descriptor"):
                    check_free(str(path), fd)
        finally:
            os.close(fd)


@pytest.mark.parametrize(
    ("blkid", "fsck", "error"),
    [
        ("echo TYPE=ext4", "exec sleep 60", "'fsck' of device {0} has not ended: still running after 1 s"),
        ("echo TYPE=ext4", "echo bad; exit 4", "'fsck' found errors on device {0} but could not correct them: bad"),
        ("echo PTTYPE=gpt", "exit 0", "mount failed: exit status 32\n"),
    ],
)
def test_a_damaged_device_is_not_mounted(
    programs: Path, monkeypatch: pytest.MonkeyPatch, blkid: str, fsck: str, error: str
) -> None:
    monkeypatch.setattr(disk_format, "stat", SimpleNamespace(S_ISBLK=lambda mode: True))
    for name, script in (("blkid", blkid), ("fsck", fsck), ("mount", 'echo "$@"; exit 32')):
        write(programs, name, script)
    (programs / "disk").touch()
    found = mount_device(f"{programs}/disk", f"{programs}/at", "", [], 1.0)
    assert found.startswith(error.format(f"{programs}/disk", f"{programs}/at"))
    assert not (programs / "at").exists()
    assert not (programs / "formatted").exists()
