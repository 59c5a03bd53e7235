"""What is asked of iscsiadm to attach a disk and to detach it, by a program that keeps the same records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.volume_manager.disks.model import IscsiDisk
from actors.volume_manager.host import iscsi_attach, iscsi_detach, scsi_devices
from tests.support.iscsi_target import IQN, PORTAL, IscsiTarget

OTHER = "10.0.0.2:3260"
NODE = f"node-{PORTAL},{IQN},default"
LINK = f"dev/disk/by-path/ip-{PORTAL}-iscsi-{IQN}-lun-0"


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IscsiTarget:
    return made(tmp_path, monkeypatch)


def made(root: Path, monkeypatch: pytest.MonkeyPatch, *portals: str, **more: Any) -> IscsiTarget:
    found = IscsiTarget(root / "target", *portals, **more)
    monkeypatch.setenv("PATH", found.path)
    monkeypatch.setattr(iscsi_attach, "DEVICE_SECONDS", 0)
    monkeypatch.setattr(iscsi_attach, "MULTIPATH_SECONDS", 0)
    monkeypatch.setattr(scsi_devices, "is_busy", lambda name, dev: False)
    return found


def disk(*portals: str, **more: Any) -> dict[str, Any]:
    found = IscsiDisk(**{"portals": list(portals) or [PORTAL], "iqn": IQN, "lun": 0, "volume": "pv", **more})
    return dict(msgspec.to_builtins(found))


def attach(target: IscsiTarget, wanted: dict[str, Any], **chap: dict[str, str]) -> list[str]:
    return iscsi_attach.attach(wanted, chap, 60.0, **target.where)


def detach(target: IscsiTarget, wanted: dict[str, Any], *portals: str) -> str:
    return iscsi_detach.detach(wanted, list(portals), **target.where)


def test_a_disk_is_attached_by_discovery_and_login_and_nothing_is_left_after_it(target: IscsiTarget) -> None:
    assert attach(target, disk()) == [f"{target.root}/{LINK}", ""]
    assert Path(target.sysfs, "class/scsi_host/host1/scan").read_text() == "0 0 0"
    assert target.kept == [f"discovery-{PORTAL}", NODE]
    assert '"node.startup": "manual"' in (target.root / "state" / NODE).read_text()
    assert detach(target, disk(), PORTAL) == ""
    assert target.is_removed("sda")
    assert target.sessions == []
    assert target.kept == [f"discovery-{PORTAL}"], "as with the kubelet"


def test_a_session_that_is_there_is_used(target: IscsiTarget) -> None:
    attach(target, disk())
    before = len(target.calls)
    assert attach(target, disk())[0] == f"{target.root}/{LINK}"
    assert target.calls[before:] == ["-m iface -I default -o show"]


def test_what_is_gone_already_is_detached(target: IscsiTarget) -> None:
    assert detach(target, disk(), PORTAL) == ""
    attach(target, disk())
    assert [detach(target, disk(), PORTAL) for _ in range(2)] == ["", ""]


def test_a_session_of_another_disk_stays(target: IscsiTarget) -> None:
    attach(target, disk())
    assert detach(target, disk()) == ""
    assert target.is_removed("sda")
    assert target.sessions == ["host1"]
    assert NODE in target.kept


def test_a_disk_that_is_in_use_and_a_session_with_one_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, busy = made(tmp_path, monkeypatch, disks={"0": ["sda"], "1": ["sdb"]}), {"sda"}
    monkeypatch.setattr(scsi_devices, "is_busy", lambda name, dev: name in busy)
    attach(target, disk())
    assert detach(target, disk(), PORTAL) == "/dev/sda is still in use"
    assert not target.is_removed("sda")
    busy = {"sdb"}
    assert detach(target, disk(), PORTAL) == ""
    assert target.is_removed("sda")
    assert target.sessions == ["host1"], "the root file system may be there"


def test_a_target_that_does_not_answer_is_an_error_and_leaves_no_record(target: IscsiTarget) -> None:
    target.set(away=[PORTAL])
    error = f"iscsi: failed to sendtargets to portal {PORTAL} output: exit status 4: iscsiadm: cannot make connection"
    assert attach(target, disk()) == ["", f"failed to get any path for iscsi disk, last err seen:\n{error} to {PORTAL}"]
    assert target.kept == []


def test_a_login_that_fails_leaves_no_record(target: IscsiTarget) -> None:
    target.set(status={"--login": 8})
    path, error = attach(target, disk())
    assert path == ""
    assert "iscsi: failed to attach disk: Error: exit status 8" in error
    assert NODE not in target.kept


def test_a_session_that_is_made_meanwhile_is_no_failure(target: IscsiTarget) -> None:
    target.set(status={"--login": 15})
    assert "Could not get SCSI host number for portal" in attach(target, disk())[1]


def test_a_disk_that_the_target_does_not_have_is_named_by_its_path(target: IscsiTarget) -> None:
    _, error = attach(target, disk(lun=7))
    assert f"Timed out waiting for device at path {target.dev}/disk/by-path/ip-{PORTAL}-iscsi-{IQN}-lun-7" in error


def test_without_the_program_its_package_is_named(target: IscsiTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(target.root))
    missing = "there is no program iscsiadm on this node: its package is open-iscsi or iscsi-initiator-utils"
    assert attach(target, disk()) == ["", f"iscsi: could not read iface default error: {missing}"]
    assert detach(target, disk(), PORTAL) == "", "nothing was attached without it"


def test_an_interface_that_is_not_there_is_named(target: IscsiTarget) -> None:
    assert "could not read iface none error: exit status 21" in attach(target, disk(original="none"))[1]


def test_the_secret_of_chap_reaches_discovery_and_session_and_no_error(target: IscsiTarget) -> None:
    target.set(chap={"node.session.auth.authmethod": "CHAP", "node.session.auth.password": "right"})
    _, error = attach(target, disk(), session={"node.session.auth.password": "wrong"})
    assert "authorization failure" in error
    assert "wrong" not in error
    chap = {
        "discovery": {"discovery.sendtargets.auth.username": "me"},
        "session": {"node.session.auth.password": "right"},
    }
    assert attach(target, disk(), **chap)[0]
    known = (target.root / "state" / f"discovery-{PORTAL}").read_text()
    assert '"discovery.sendtargets.auth.authmethod": "CHAP"' in known
    assert '"discovery.sendtargets.auth.username": "me"' in known


@pytest.mark.parametrize("part", ["discoverydb", "node"])
def test_a_setting_that_is_refused_does_not_show_the_secret(target: IscsiTarget, part: str) -> None:
    target.set(status={"-n node.session.auth.p": 7, "-n discovery.sendtargets.auth.p": 7})
    chap = {"discovery": {"discovery.sendtargets.auth.password": "deep"}} if part == "discoverydb" else {
        "session": {"node.session.auth.password": "deep"}
    }  # fmt: skip
    _, error = attach(target, disk(), **chap)
    assert f"iscsi: failed to update {'iscsi node' if part == 'node' else part} to portal {PORTAL} with CHAP" in error
    assert "deep" not in error


def test_an_initiator_has_an_interface_of_its_own_as_long_as_the_disk_is_attached(target: IscsiTarget) -> None:
    own = disk(initiator="iqn.2003-01.org.example:me")
    assert attach(target, own)[0]
    settings = (target.root / f"state/iface-{PORTAL}:pv").read_text()
    assert '"iface.initiatorname": "iqn.2003-01.org.example:me"' in settings
    assert '"iface.transport_name": "tcp"' in settings
    assert "ifacename" not in settings
    assert f"node-{PORTAL},{IQN},{PORTAL}:pv" in target.kept
    assert detach(target, own, PORTAL) == ""
    assert target.kept == [f"discovery-{PORTAL}"]


def test_an_interface_is_not_left_when_no_path_is_found(target: IscsiTarget) -> None:
    target.set(away=[PORTAL])
    attach(target, disk(initiator="iqn.2003-01.org.example:me"))
    assert target.kept == []


def test_a_multipath_device_is_taken_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = made(tmp_path, monkeypatch, PORTAL, OTHER, disks={"0": ["sda", "sdb"]})
    slaves = Path(target.sysfs, "block/dm-3/slaves")
    slaves.mkdir(parents=True)
    (slaves / "sdb").touch()
    assert attach(target, disk(PORTAL, OTHER)) == [f"{target.dev}/dm-3", ""]
    assert target.sessions == ["host1", "host2"]
    flushed: list[str] = []

    def flush(name: str) -> str:
        flushed.append(name)
        return ""

    monkeypatch.setattr(scsi_devices, "flush_multipath", flush)
    assert detach(target, disk(PORTAL, OTHER), PORTAL, OTHER) == ""
    assert flushed == ["dm-3"]
    assert target.is_removed("sda")
    assert target.is_removed("sdb")
    assert target.sessions == []


def test_one_path_is_enough_when_the_others_fail_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = made(tmp_path, monkeypatch, PORTAL, OTHER)
    target.set(away=[OTHER])
    assert attach(target, disk(PORTAL, OTHER)) == [f"{target.root}/{LINK}", ""]
    assert sum("--discover" in call for call in target.calls) == 1 + iscsi_attach.MOST_ATTEMPTS


def test_a_login_of_an_agent_that_died_is_waited_for(target: IscsiTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iscsi_detach, "wait_until_ended", lambda prefixes, words, seconds: IQN not in words)
    assert detach(target, disk(), PORTAL) == "iscsiadm of an earlier attempt still runs"
    assert target.calls == []
