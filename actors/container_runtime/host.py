"""The host's facts for the configuration of containerd, detected once before the tree starts."""

from __future__ import annotations

import ipaddress
import os
import platform
import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.linux import kernel_files, mountinfo
from actors.shared.linux.cgroup_hierarchy import available
from actors.shared.linux.kernel_files import CGROUPS
from supervision.errors import error_reason
from supervision.time_scale import scaled

from .errors import MissingPrograms, ProgramFailed
from .images import BUSYBOX

SEARCH_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PLUGIN_DIRS: Final = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
_PLUGINS: Final = ("bridge", "host-local", "portmap", "loopback")
_PACKAGES: Final = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
}
_CAP_SYS_RESOURCE: Final = 24
_VERSION_SECONDS: Final = 20


class RuntimeHost(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one host."""

    containerd: str
    runc: str
    ctr: str
    plugin_dir: str
    """Holds the CNI plug-ins."""
    version: tuple[int, int] = (1, 6)
    """The version of containerd."""
    machine: str = "x86_64"
    """As in uname -m."""
    lowers_oom_score: bool = True
    """CAP_SYS_RESOURCE: may give a process a lower oom_score_adj than its own."""
    apparmor: bool = False
    selinux: bool = False
    hugetlb: bool = False
    """Whether the cgroup controller is where runc looks for it."""
    overlay: bool = True
    """overlayfs can be mounted on the file system of the root directory."""
    mtu: int = 1500
    """The MTU of the interface with the default route."""
    networks: tuple[tuple[str, str], ...] = ()
    """IPv4 networks that this host has routes to, without the default route, each with its interface."""

    @property
    def search_path(self) -> str:
        """PATH for containerd, which finds its shim there: the shim beside containerd comes first."""
        return f"{os.path.dirname(self.containerd)}:{SEARCH_PATH}"


def look(root: str, search: str = "") -> RuntimeHost:
    """The facts of this host, for an instance with its data in `root`. `search`: directories to search first.

    Raises MissingPrograms with all that is missing, ProgramFailed.
    """
    path = f"{search}:{SEARCH_PATH}" if search else SEARCH_PATH
    found = {name: shutil.which(name, path=path) or "" for name in _PACKAGES}
    plugin_dir = next((at for at in _PLUGIN_DIRS if all(Path(at, name).exists() for name in _PLUGINS)), "")
    missing = {name: package for name, package in _PACKAGES.items() if not found[name]}
    missing |= {} if plugin_dir else {"CNI plug-ins": "containernetworking-plugins"}
    missing |= {} if Path(BUSYBOX).exists() else {"busybox": "busybox-static"}
    if missing:
        raise MissingPrograms(missing)
    mounts = mountinfo.read()
    return RuntimeHost(
        containerd=found["containerd"],
        runc=found["runc"],
        ctr=found["ctr"],
        plugin_dir=plugin_dir,
        version=_version(found["containerd"]),
        machine=platform.machine(),
        lowers_oom_score=_has_capability(_CAP_SYS_RESOURCE),
        apparmor=_read("/sys/module/apparmor/parameters/enabled").startswith("Y"),
        selinux=kernel_files.has_selinux(),
        hugetlb=has_hugetlb(mounts, available(CGROUPS)),
        overlay=can_overlay(mounts, _read("/proc/filesystems"), root),
        mtu=mtu_of_default_route(_read("/proc/net/route")),
        networks=tuple(routed_networks(_read("/proc/net/route"))),
    )


def has_hugetlb(mounts: list[mountinfo.Mount], controllers: frozenset[str]) -> bool:
    """Whether limits of huge pages can be set: a v1 hierarchy of its own, or `controllers` of a pure v2."""
    return "hugetlb" in controllers or any(
        mount.kind == "cgroup" and "hugetlb" in mount.super_options for mount in mounts
    )


def can_overlay(mounts: list[mountinfo.Mount], filesystems: str, root: str) -> bool:
    """Whether overlayfs is known and not itself under `root`: it cannot be its own upper layer."""
    below = mountinfo.mount_at(mounts, os.path.realpath(root))
    return "overlay" in filesystems.split() and (below is None or below.kind != "overlay")


def routed_networks(routes: str) -> Iterator[tuple[str, str]]:
    """(interface, destination) for each line of /proc/net/route, but not for the default route."""
    for fields in _routes(routes):
        address, mask = (ipaddress.IPv4Address(_address(fields[at])) for at in (1, 7))
        if int(mask):
            yield fields[0], str(ipaddress.IPv4Network(f"{address}/{mask}", strict=False))


def mtu_of_default_route(routes: str, interfaces: str = "/sys/class/net") -> int:
    """The MTU of the interface with the default route; of several, the kernel uses the first. 1500 without one."""
    for fields in _routes(routes):
        if int(fields[7], 16) == 0:
            return int(_read(f"{interfaces}/{fields[0]}/mtu") or 1500)
    return 1500


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor version in the output of `containerd --version`. Raises ProgramFailed."""
    found = re.search(r"\bv?(\d+)\.(\d+)\.\d+", text)
    if not found:
        raise ProgramFailed(f"containerd --version says {text.strip()[:200]!r}, which has no version")
    return int(found[1]), int(found[2])


def _version(containerd: str) -> tuple[int, int]:
    try:
        output = subprocess.run(
            [containerd, "--version"], capture_output=True, text=True, timeout=scaled(_VERSION_SECONDS), check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramFailed(f"{containerd} --version: {error_reason(error)}") from error
    return parse_version(output.stdout)


def _has_capability(number: int) -> bool:
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)$", _read("/proc/self/status"), re.MULTILINE)
    return effective is not None and bool(int(effective[1], 16) >> number & 1)


def _routes(text: str) -> Iterator[list[str]]:
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7:  # Iface Destination Gateway Flags RefCnt Use Metric Mask
            yield fields


def _address(field: str) -> str:
    """The kernel prints addresses as numbers of its own byte order."""
    return socket.inet_ntoa(struct.pack("=I", int(field, 16)))


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
