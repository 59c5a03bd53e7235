"""The iSCSI sessions in a made-up sysfs, and what iscsiadm prints of an interface."""

from __future__ import annotations

from pathlib import Path

from actors.volume_manager.disks.model import IscsiDisk
from actors.volume_manager.host.iscsi_attach import link_patterns
from actors.volume_manager.host.iscsi_sessions import sessions
from actors.volume_manager.host.iscsiadm import settings_of, transport_of
from actors.volume_manager.host.running_programs import are_running

IQN = "iqn.2003-01.org.example:a"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add(sysfs: Path, number: int, target: str, address: str, interface: str = "default") -> Path:
    session = sysfs / f"class/iscsi_host/host{number}/device/session{number}"
    write(session / f"iscsi_session/session{number}/targetname", f"{target}\n")
    if interface:
        write(session / f"iscsi_session/session{number}/ifacename", f"{interface}\n")
    connection = session / f"connection{number}:0/iscsi_connection/connection{number}:0"
    write(connection / "address", f"{address}\n")
    write(connection / "port", "3260\n")
    write(connection / "persistent_address", "10.0.0.9\n")
    write(connection / "persistent_port", "860\n")
    return session


def test_a_session_is_known_by_target_interface_and_both_of_its_portals(tmp_path: Path) -> None:
    assert sessions(IQN, "default", str(tmp_path)) == []
    session = add(tmp_path, 3, IQN, "10.0.0.1")
    add(tmp_path, 4, f"{IQN}b", "10.0.0.1")
    add(tmp_path, 5, IQN, "10.0.0.1", "own")
    add(tmp_path, 6, IQN, "fd00::1", interface="")
    (session / "target3:0:0/3:0:0:2/block/sdc").mkdir(parents=True)
    (session / "target3:0:0/3:0:0:12/block/sdd").mkdir(parents=True)
    first, second = sessions(IQN, "default", str(tmp_path))
    assert (first.host, first.portals) == (3, frozenset({"10.0.0.1:3260", "10.0.0.9:860"}))
    assert (second.host, second.portals) == (6, frozenset({"[fd00::1]:3260", "10.0.0.9:860"}))
    assert first.disks(2) == ["sdc"]
    assert first.disks() == ["sdc", "sdd"]
    assert first.disks(1) == []


def test_a_session_that_is_going_away_is_none_of_the_target(tmp_path: Path) -> None:
    (tmp_path / "class/iscsi_host/host1/device/session1").mkdir(parents=True)
    assert sessions(IQN, "default", str(tmp_path)) == []


SHOWN = """# BEGIN RECORD 2.1.11
iface.iscsi_ifacename = default
iface.net_ifacename = <empty>
iface.transport_name = tcp
iface.vlan_id = 0
# END RECORD
"""


def test_the_settings_of_an_interface_are_those_with_a_value() -> None:
    wanted = {"iface.iscsi_ifacename": "default", "iface.transport_name": "tcp", "iface.vlan_id": "0"}
    assert settings_of(SHOWN) == wanted
    assert transport_of(SHOWN) == "tcp"
    assert transport_of(SHOWN.replace("= tcp", "= <empty>")) == "tcp"
    assert transport_of(SHOWN.replace("= tcp", "= bnx2i")) == "bnx2i"
    assert transport_of("") == ""


def test_a_link_has_the_address_as_udev_writes_it() -> None:
    disk = IscsiDisk(portals=["[fd00::1]:3260"], iqn=IQN, lun=3)
    names = [f"ip-[[]fd00::1]:3260-iscsi-{IQN}-lun-3", f"ip-fd00::1:3260-iscsi-{IQN}-lun-3"]
    assert link_patterns(disk, disk.portals[0], "tcp") == names
    assert link_patterns(disk, "10.0.0.1:860", "bnx2i") == [f"pci-*-ip-10.0.0.1:860-iscsi-{IQN}-lun-3"]


def test_a_program_is_known_by_its_name_and_one_of_its_arguments(tmp_path: Path) -> None:
    for pid, words in enumerate((["/bin/sh", "/usr/sbin/iscsiadm", "-T", IQN], ["/bin/mkfs.ext4", "/dev/sda"], [""])):
        write(tmp_path / str(pid) / "cmdline", "\0".join([*words, ""]))
    (tmp_path / "4").mkdir()
    (tmp_path / "self").mkdir()
    assert are_running(("iscsiadm",), {IQN, "x"}, str(tmp_path))
    assert not are_running(("iscsiadm",), {"/dev/sda"}, str(tmp_path))
    assert not are_running(("mkfs.x",), {"/dev/sda"}, str(tmp_path))


def test_a_program_of_a_container_is_none_of_the_host(tmp_path: Path) -> None:
    """Any pod could keep the disks of others attached."""
    for process, root in {"self": "host", "7": "container"}.items():
        (tmp_path / root).mkdir()
        (tmp_path / process).mkdir()
        (tmp_path / process / "root").symlink_to(tmp_path / root)
    (tmp_path / "7/cmdline").write_bytes(b"iscsiadm\0-m\0" + IQN.encode() + b"\0")
    assert not are_running(("iscsiadm",), {IQN}, str(tmp_path))
    (tmp_path / "7/root").unlink()
    (tmp_path / "7/root").symlink_to(tmp_path / "host")
    assert are_running(("iscsiadm",), {IQN}, str(tmp_path))
