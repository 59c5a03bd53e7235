"""A stand-in for iscsiadm and its targets: a program that keeps the same records, and shows its sessions in a made-up
sysfs. What is behind a disk is up to the test."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PORTAL, IQN = "10.0.0.1:3260", "iqn.2003-01.org.example:disk"


class IscsiTarget:
    """Its directories are below `root`. `disks`: by number, the names of devices below `root`/dev, in the order of the
    sessions."""

    def __init__(self, root: Path, *portals: str, disks: dict[str, list[str]] | None = None) -> None:
        self.root, self.sysfs, self.dev = root, f"{root}/sys", f"{root}/dev"
        for folder in ("bin", "sys/class/iscsi_host", "sys/class/scsi_host", "sys/block", "dev/disk/by-path", "state"):
            (root / folder).mkdir(parents=True)
        program = root / "bin/iscsiadm"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {Path(__file__).resolve()} {root} "$@"\n')
        program.chmod(0o755)
        self.set(portals=list(portals) or [PORTAL], iqn=IQN, disks=disks or {"0": ["sda"]})
        for names in (disks or {"0": ["sda"]}).values():
            for name in names:
                (root / "dev" / name).touch()
                (root / f"sys/block/{name}/device").mkdir(parents=True)
                (root / f"sys/block/{name}/device/delete").touch()

    @property
    def where(self) -> dict[str, str]:
        """Arguments of what attaches and detaches."""
        return {"sysfs": self.sysfs, "dev": self.dev}

    @property
    def path(self) -> str:
        """PATH with the program."""
        return f"{self.root}/bin:{os.environ['PATH']}"

    def set(self, **target: Any) -> None:
        """`portals`, `iqn`, `disks`; `away`: portals that do not answer; `chap`: settings without which there is no
        login; `status`: exit status by words of the command."""
        path = self.root / "target.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, **target}))

    @property
    def calls(self) -> list[str]:
        """Every command, without the program's name."""
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def kept(self) -> list[str]:
        """The records, as `node-PORTAL,IQN,INTERFACE`."""
        return sorted(os.listdir(self.root / "state"))

    @property
    def sessions(self) -> list[str]:
        return sorted(os.listdir(f"{self.sysfs}/class/iscsi_host"))

    def is_removed(self, name: str) -> bool:
        return Path(self.sysfs, "block", name, "device/delete").read_text() == "1"


# -- the program, without any package ---------------------------------------------------------------------------------
_FLAGS = ("--login", "--logout", "--discover")


def _main(root: Path, words: list[str]) -> int:
    with (root / "calls").open("a") as log:
        log.write(" ".join(words) + "\n")
    target = json.loads((root / "target.json").read_text())
    for text, status in target.get("status", {}).items():
        if text in " ".join(words):
            print(f"iscsiadm: {text}")
            return int(status)
    flags = {word for word in words if word in _FLAGS}
    rest = [word for word in words if word not in _FLAGS]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    return {"iface": _iface, "discoverydb": _discovery, "node": _node}[options["-m"]](root, target, options, flags)


def _record(root: Path, *parts: str) -> Path:
    return root / "state" / f"{parts[0]}-{','.join(parts[1:])}"


def _change(path: Path, options: dict[str, str]) -> int:
    operation = options.get("-o")
    if operation == "new":
        if path.exists():
            return 15
        path.write_text("{}")
    elif not path.exists():
        return 21
    elif operation == "delete":
        path.unlink()
    elif operation == "update":
        path.write_text(json.dumps({**json.loads(path.read_text()), options["-n"]: options["-v"]}))
    return 0


def _iface(root: Path, target: dict[str, Any], options: dict[str, str], flags: set[str]) -> int:
    path = _record(root, "iface", options["-I"])
    if options["-o"] != "show":
        return _change(path, options)
    if options["-I"] != "default" and not path.exists():
        return 21
    print(f"# BEGIN RECORD 2.1\niface.iscsi_ifacename = {options['-I']}\niface.net_ifacename = <empty>")
    print("iface.transport_name = tcp\niface.mtu = 0\n# END RECORD")
    return 0


def _discovery(root: Path, target: dict[str, Any], options: dict[str, str], flags: set[str]) -> int:
    path = _record(root, "discovery", options["-p"])
    if "--discover" not in flags:
        return _change(path, options)
    if options["-p"] not in target["portals"] or options["-p"] in target.get("away", []):
        print(f"iscsiadm: cannot make connection to {options['-p']}")
        return 4
    _record(root, "node", options["-p"], target["iqn"], options["-I"]).write_text("{}")
    return 0


def _node(root: Path, target: dict[str, Any], options: dict[str, str], flags: set[str]) -> int:
    path = _record(root, "node", options["-p"], options["-T"], options.get("-I", "default"))
    if not flags:
        return _change(path, options)
    if not path.exists():
        return 21
    number = target["portals"].index(options["-p"]) + 1
    host = root / f"sys/class/iscsi_host/host{number}"
    if "--logout" in flags:
        return _log_out(host) if host.exists() else 21
    if host.exists():
        return 15
    given = json.loads(path.read_text())
    if any(given.get(name) != value for name, value in target.get("chap", {}).items()):
        print("iscsiadm: initiator reported error (24 - iSCSI login failed due to authorization failure)")
        return 24
    _log_in(root, target, options, number)
    return 0


def _log_in(root: Path, target: dict[str, Any], options: dict[str, str], number: int) -> None:
    session = root / f"sys/class/iscsi_host/host{number}/device/session{number}"
    about, connection = session / f"iscsi_session/session{number}", session / f"connection{number}:0"
    connection /= f"iscsi_connection/connection{number}:0"
    about.mkdir(parents=True)
    connection.mkdir(parents=True)
    (about / "targetname").write_text(target["iqn"] + "\n")
    (about / "ifacename").write_text(options["-I"] + "\n")
    address, _, port = options["-p"].rpartition(":")
    for kind in ("", "persistent_"):
        (connection / f"{kind}address").write_text(address + "\n")
        (connection / f"{kind}port").write_text(port + "\n")
    scan = root / f"sys/class/scsi_host/host{number}/scan"
    scan.parent.mkdir(parents=True, exist_ok=True)
    scan.write_text("")
    for lun, names in target["disks"].items():
        name = names[min(number, len(names)) - 1]
        (session / f"target{number}:0:0/{number}:0:0:{lun}/block/{name}").mkdir(parents=True)
        link = root / f"dev/disk/by-path/ip-{options['-p']}-iscsi-{target['iqn']}-lun-{lun}"
        link.unlink(missing_ok=True)
        link.symlink_to(root / "dev" / name)


def _log_out(host: Path) -> int:
    for folder, _, files in sorted(os.walk(host), reverse=True):
        for file in files:
            os.unlink(f"{folder}/{file}")
        os.rmdir(folder)
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2:]))
