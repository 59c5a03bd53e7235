"""The records of disks that are attached, and of the pods that use them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from actors.volume_manager.disks.model import FcDisk, IscsiDisk
from actors.volume_manager.disks.records import DiskRecords
from actors.volume_manager.disks.uses import DiskUse, DiskUses

IQN = "iqn.2003-01.org.example:a"
ISCSI = IscsiDisk(unique="u", volume="pv", portals=["10.0.0.1:3260", "10.0.0.2:3260"], iqn=IQN, lun=1)
FC = FcDisk(unique="f", wwids=["3600"])


@pytest.fixture
def records(tmp_path: Path) -> DiskRecords:
    return DiskRecords(f"{tmp_path}/plugins")


def test_a_disk_is_known_from_its_note_until_it_is_forgotten(records: DiskRecords):
    assert records.all() == []
    for disk in (ISCSI, FC):
        records.note(disk)
        records.note(disk)
        records.note_for_kubelets(disk)
    assert records.all() == [ISCSI, FC]
    for disk in (ISCSI, FC):
        records.forget(disk)
        records.forget(disk)
    assert records.all() == []
    left = [name for _, _, files in os.walk(records.plugins_dir) for name in files]
    assert left == []
    assert not os.path.exists(f"{records.plugins_dir}/kubernetes.io/iscsi/iface-default")


def test_a_kubelet_finds_its_own_record(records: DiskRecords):
    disk = IscsiDisk(volume="pv", portals=["p:1"], iqn=IQN, lun=7, initiator="iqn.2003-01.org.example:me")
    records.note_for_kubelets(disk)
    found = json.loads(Path(records.directory(disk), "iscsi.json").read_bytes())
    assert found == {
        "VolName": "pv", "Portals": ["p:1"], "Iqn": IQN, "Lun": "7", "InitIface": "default", "Iface": "p:1:pv",
        "InitiatorName": "iqn.2003-01.org.example:me", "MetricsProvider": None,
    }  # fmt: skip


def test_a_disk_that_a_kubelet_has_attached_is_known_by_its_place_and_record(records: DiskRecords):
    records.note_for_kubelets(ISCSI)
    (found,) = records.all()
    assert found == IscsiDisk(volume="pv", portals=ISCSI.portals, iqn=IQN, lun=1)
    os.unlink(f"{records.directory(ISCSI)}/iscsi.json")
    (found,) = records.all()
    assert found == IscsiDisk(portals=ISCSI.portals[:1], iqn=IQN, lun=1)


def test_a_damaged_record_is_none_and_the_disk_is_known_by_its_place(records: DiskRecords):
    records.note(ISCSI)
    records.note_for_kubelets(ISCSI)
    above = Path(records.directory(ISCSI)).parent
    (path,) = (above / name for name in os.listdir(above) if name.startswith("."))
    path.write_text("{")
    (found,) = records.all()
    assert found.place == ISCSI.place
    records.forget(found)
    assert records.all() == []


def test_a_disk_in_whose_directory_is_something_else_stays_known(records: DiskRecords):
    records.note(FC)
    records.note_for_kubelets(FC)
    Path(records.directory(FC), "x").touch()
    with pytest.raises(OSError, match="not empty"):
        records.forget(FC)


def test_the_uses_of_disks_are_in_the_directories_of_pods(tmp_path: Path):
    uses = DiskUses(str(tmp_path))
    one, two = f"{tmp_path}/one", f"{tmp_path}/two"
    assert list(uses.all()) == []
    uses.note(one, "iscsi", "v", ISCSI)
    uses.note(two, "iscsi", "pv", ISCSI, ready=True)
    uses.note(two, "fc", "pv", FC)
    assert uses.of(one, "iscsi", "v") == DiskUse(place=ISCSI.place, unique="u")
    assert uses.of(two, "iscsi", "pv") == DiskUse(place=ISCSI.place, unique="u", ready=True)
    assert [use.unique for use in uses.all()] == ["u", "u", "f"]
    uses.forget(two, "iscsi")
    assert [use.unique for use in uses.all()] == ["u", "f"]
    assert uses.of(two, "iscsi", "pv") is None


def test_a_use_that_cannot_be_seen_is_an_error(tmp_path: Path):
    uses = DiskUses(str(tmp_path))
    folder = tmp_path / "u/plugins/kubernetes.io~iscsi"
    folder.parent.mkdir(parents=True)
    folder.symlink_to(folder)
    with pytest.raises(OSError, match="symbolic links"):
        list(uses.all())
