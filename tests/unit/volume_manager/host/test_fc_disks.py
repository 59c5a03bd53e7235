"""Fibre Channel disks in a made-up /dev and /sys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.volume_manager.disks.model import FcDisk
from actors.volume_manager.host import fc_disks, scsi_devices

WWN, WWID = "50060e801049cfd1", "3600508b400105e210000900000490000"


class Fabric:
    """A host with disks. `programs`: the commands that were run."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.programs = root, list[str]()
        self.busy: set[str] = set()
        for folder in ("dev/disk/by-path", "dev/disk/by-id", "sys/class/scsi_host/host0"):
            (root / folder).mkdir(parents=True)
        self.scan = root / "sys/class/scsi_host/host0/scan"
        self.scan.touch()
        monkeypatch.setattr(fc_disks, "RESCAN_SECONDS", 0)
        monkeypatch.setattr(scsi_devices, "is_busy", lambda name, dev: name in self.busy)
        monkeypatch.setattr(scsi_devices, "run", self._run)

    def _run(self, arguments: list[str], seconds: float) -> tuple[int, str]:
        self.programs.append(" ".join(arguments))
        return 0, ""

    def add(self, name: str, link: str) -> None:
        (self.root / "dev" / name).touch()
        (self.root / "dev/disk" / link).symlink_to(self.root / "dev" / name)
        delete = self.root / f"sys/block/{name}/device/delete"
        delete.parent.mkdir(parents=True)
        delete.touch()

    def above(self, name: str, *disks: str) -> None:
        slaves = self.root / f"sys/block/{name}/slaves"
        slaves.mkdir(parents=True)
        for disk in disks:
            (slaves / disk).touch()

    def removed(self) -> list[str]:
        return sorted(path.parts[-3] for path in self.root.glob("sys/block/*/device/delete") if path.read_text() == "1")

    def attach(self, **disk: Any) -> list[str]:
        path, error = fc_disks.attach(msgspec.to_builtins(FcDisk(**disk)), **self._where)
        return [path.removeprefix(str(self.root)), error]

    def detach(self, **disk: Any) -> str:
        return fc_disks.detach(msgspec.to_builtins(FcDisk(**disk)), **self._where)

    @property
    def _where(self) -> dict[str, str]:
        return {"sysfs": f"{self.root}/sys", "dev": f"{self.root}/dev"}


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fabric:
    return Fabric(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"fc-0x{WWN}-lun-1", True),
        (f"pci-0000:41:00.0-fc-0x{WWN}-lun-1", True),
        (f"pci-0000:41:00.0-fc-0x{WWN}-lun-1-part1", False),
        (f"pci-0000:41:00.0-fc-0x{WWN}-lun-11", False),
        (f"pci-0000:41:00.0-sas-0x{WWN}-lun-1", False),
        ("fc-0x50060e801049cfd2-lun-1", False),
    ],
)
def test_a_disk_is_known_by_its_port_and_number(name: str, found: bool) -> None:
    assert fc_disks.is_link(name, FcDisk(wwns=[WWN], lun=1)) == found


def test_a_disk_is_known_by_its_identifier_alone() -> None:
    disk = FcDisk(wwids=[WWID, "VENDOR_1"])
    assert fc_disks.is_link(f"scsi-{WWID}", disk)
    assert fc_disks.is_link("scsi-VENDOR_1", disk)
    assert not fc_disks.is_link(f"scsi-{WWID}-part1", disk)
    assert not fc_disks.is_link(f"wwn-{WWID}", disk)


def test_a_disk_is_found_after_a_look_at_each_bus(fabric: Fabric) -> None:
    assert fabric.attach(wwns=[WWN], lun=1) == ["", "no fc disk found"]
    assert fabric.scan.read_text() == "- - -"
    fabric.add("sdb", f"by-path/fc-0x{WWN}-lun-1")
    assert fabric.attach(wwns=["0", WWN], lun=1) == ["/dev/sdb", ""]
    fabric.add("sdc", f"by-id/scsi-{WWID}")
    assert fabric.attach(wwids=[WWID]) == ["/dev/sdc", ""]


def test_a_multipath_device_is_taken_at_once(fabric: Fabric) -> None:
    fabric.add("sdb", f"by-path/fc-0x{WWN}-lun-1")
    fabric.add("sdc", "by-path/pci-1-fc-0x2-lun-1")
    fabric.above("dm-4", "sdb", "sdc")
    assert fabric.attach(wwns=[WWN, "2"], lun=1) == ["/dev/dm-4", ""]
    assert fabric.scan.read_text() == ""


def test_all_paths_of_a_disk_are_removed_after_its_map(fabric: Fabric) -> None:
    fabric.add("sdb", f"by-path/fc-0x{WWN}-lun-1")
    fabric.add("sdc", "by-path/pci-1-fc-0x2-lun-1")
    fabric.add("sdd", "by-path/pci-1-fc-0x2-lun-2")
    fabric.above("dm-4", "sdb", "sdc")
    assert fabric.detach(wwns=[WWN], lun=1) == ""
    assert fabric.removed() == ["sdb", "sdc"]
    flushes = [f"blockdev --flushbufs /dev/{name}" for name in ("sdb", "sdc")]
    assert fabric.programs == ["multipath -f /dev/dm-4", *flushes]


def test_a_disk_that_is_in_use_or_gone_is_not_removed(fabric: Fabric) -> None:
    assert fabric.detach(wwids=[WWID]) == ""
    fabric.add("sdb", f"by-id/scsi-{WWID}")
    fabric.busy = {"sdb"}
    assert fabric.detach(wwids=[WWID]) == "/dev/sdb is still in use"
    assert fabric.removed() == []


def test_a_map_that_cannot_be_flushed_keeps_its_disks(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric.add("sdb", f"by-id/scsi-{WWID}")
    fabric.above("dm-0", "sdb")
    monkeypatch.setattr(scsi_devices, "run", lambda arguments, seconds: (1, "map in use"))
    assert fabric.detach(wwids=[WWID]) == "failed to flush multipath device /dev/dm-0: map in use"
    assert fabric.removed() == []
