"""The doctor looks at the file systems of this host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from actors.agent.doctor import disk_checks
from actors.agent.doctor.command import _prevented
from actors.agent.doctor.disk_checks import disk, disks
from actors.agent.doctor.finding import Level
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import Amount
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration


def test_a_missing_directory_is_measured_on_its_future_file_system(tmp_path: Path) -> None:
    (found,) = disk(str(tmp_path / "a" / "b"))
    assert found.text.startswith(f"{tmp_path} has ") or found.level is not Level.OK


def mounted_at(point: Path, directory: Path, options: str = "rw", of_all: str = "rw") -> str:
    """A /proc with one mount. `of_all`: the options of the file system."""
    (directory / "self").mkdir()
    (directory / "self" / "mountinfo").write_text(f"66 27 7:0 / {point} {options} - ext4 /dev/vdb {of_all}\n")
    return str(directory)


@pytest.mark.parametrize(
    ("blocks", "inodes", "remedy"),
    [(1, 100, "du -xah {} "), (100, 1, "du --inodes -x {} "), (100, 100, ""), (100, None, "")],
)
def test_the_remedy_for_a_full_disk_depends_on_what_ran_out(
    blocks: int, inodes: int | None, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_files = (0, 0, 0) if inodes is None else (100, inodes, inodes)  # btrfs counts none
    found = os.statvfs_result((4096, 4096, 100, blocks, blocks, *of_files, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    proc = mounted_at(tmp_path.parent, tmp_path)
    (finding,) = disk(str(tmp_path), proc=proc)
    assert remedy.format(tmp_path.parent) in finding.remedy
    assert (finding.level is Level.FAILURE) is bool(remedy)
    assert ("DiskPressure" in finding.text) is bool(remedy)
    (finding,) = disk(str(tmp_path), {"memory.available": Amount(percent=5.0)})
    assert ("nearly full" in finding.text) is bool(remedy), "the node evicts for nothing but memory"


@pytest.mark.parametrize(
    ("blocks", "amount", "level"),
    [
        (90, Amount(percent=99.0), Level.FAILURE),
        (90, Amount(absolute=91 * 4096), Level.FAILURE),
        (90, Amount(absolute=90 * 4096), Level.OK),
        (5, Amount(percent=1.0), Level.WARNING),
    ],
)
def test_a_disk_is_under_pressure_below_the_threshold_of_this_node(
    blocks: int, amount: Amount, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = os.statvfs_result((4096, 4096, 100, blocks, blocks, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: room)
    (found,) = disk(str(tmp_path), {"nodefs.available": amount})
    assert found.level is level
    assert ("DiskPressure" in found.text) is (level is Level.FAILURE)


@pytest.mark.parametrize(("of_all", "remedy"), [("ro", "remount,rw"), ("rw", "remount,bind,rw")])
def test_what_is_mounted_read_only_is_mounted_again_where_it_is_mounted(
    of_all: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = os.statvfs_result((4096, 4096, 100, 90, 90, 0, 0, 0, os.ST_RDONLY, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    (finding,) = disk(str(tmp_path), proc=mounted_at(tmp_path.parent, tmp_path, "ro", of_all))
    assert finding.remedy == f"mount -o {remedy} {tmp_path.parent}"


@pytest.mark.parametrize(("options", "level"), [("rw,emergency_ro", Level.FAILURE), ("rw", Level.OK)])
def test_a_file_system_that_is_read_only_since_an_error_is_a_failure(
    options: str, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = os.statvfs_result((4096, 4096, 100, 90, 90, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: room)
    (found,) = disk(str(tmp_path), proc=mounted_at(Path("/"), tmp_path, of_all=options))
    assert found.level is level
    assert ("/dev/vdb" in found.text) == (level is Level.FAILURE)


@pytest.mark.parametrize(
    ("devices", "places", "under"),
    [
        ({"/images": 1}, [("/root", ["nodefs", "imagefs", "containerfs"])], "evictionHard imagefs.available 15%"),
        ({"/images": 2}, [("/root", ["nodefs"]), ("/images", ["imagefs", "containerfs"])],
         "evictionHard imagefs.available 15%"),
        ({"/images": 2, "/layers": 1}, [("/root", ["nodefs", "containerfs"]), ("/images", ["imagefs"])],
         "evictionHard imagefs.available 15%"),
        ({}, [("/root", ["nodefs"])], ""),
    ],
)  # fmt: skip
def test_the_disks_of_images_and_layers_are_checked_by_their_own_thresholds(
    devices: Mapping[str, int], places: list[tuple[str, list[str]]], under: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve percent are free everywhere: enough for pods, too little for images."""
    room = os.statvfs_result((4096, 4096, 100, 12, 12, 0, 0, 0, 0, 255))
    seen: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(os, "statvfs", lambda path: room)
    monkeypatch.setattr(disk_checks, "nearest_directory", lambda path: path)
    figures = {path: [device, 12, 100, 0, 0] for path, device in {"/root": 1, **devices}.items()}
    monkeypatch.setattr(disk_checks, "read_disks", lambda paths: {path: figures[path] for path in paths})
    one = disk_checks.disk

    def noted(path: str, evicts: Mapping[str, Amount], names: list[str]) -> object:
        seen.append((path, names))
        return one(path, evicts, names=names)

    monkeypatch.setattr(disk_checks, "disk", noted)
    images = {"imagefs": "/images", "containerfs": "/layers" if "/layers" in devices else "/images"} if devices else {}
    found = list(disks(Agent(config=KubeletConfiguration(), root_dir="/root"), images))
    assert seen == places
    assert [one.text.rpartition(", ")[2] for one in found if one.level is Level.FAILURE] == ([under] if under else [])


def test_a_start_is_not_advised_on_a_read_only_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(root_dir=str(tmp_path / "new"))
    assert not any("read-only" in one for one in _prevented(agent))
    found = os.statvfs_result((4096, 4096, 100, 90, 90, 100, 90, 90, os.ST_RDONLY, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    assert f"{tmp_path}/new is read-only" in _prevented(agent)
