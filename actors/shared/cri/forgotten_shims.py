"""Shims of an external containerd that it cannot reach any more: 1.6 leaves one, with its bundle, when it is killed
during RunPodSandbox. Its next process lists that sandbox as ended, and removes the record when it is told to, but has
no connection to the shim, so the shim stays.

A candidate is older than any call and than the present process of containerd, which lists neither sandbox nor container
of its id; no container runs below it; and it was started for a pod of this agent, by the cgroup in its bundle. It is
forgotten if containerd has no record of it either (`container_records`): one that came up on a full disk lists nothing,
but has its records.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from actors.shared.linux.cgroup_names import CgroupName, CgroupNameError, join, parse_root
from supervision.state_file import read_private

from . import shims
from .leaked_shims import leaked, left_by_earlier_runtime, runtime_age

_PODS: Final = "kubepods"


class _Linux(msgspec.Struct):
    cgroups_path: str = msgspec.field(name="cgroupsPath", default="")


class _Bundle(msgspec.Struct):
    """What is read of config.json (OCI runtime specification)."""

    linux: _Linux = msgspec.field(default_factory=_Linux)


def candidates(socket: str, known: list[str], now: float, list_age: float, cgroup_root: str) -> list[str]:
    """Ids of the shims that are forgotten unless containerd has a record of them. For a disposable process.

    Arguments as those of `leaked_shims.sweep`; `cgroup_root`: as in the configuration."""
    old = left_by_earlier_runtime(shims.running(socket, now), runtime_age(socket, now), list_age)
    return [
        shim.id
        for shim in leaked(old, known, managed=True)
        if is_below(_cgroup_of(shim.pid), cgroup_root) and not shims.has_container(shims.programs(shim))
    ]


def is_below(cgroup: str, cgroup_root: str) -> bool:
    """Whether a container's cgroup, in either form of OCI's cgroupsPath, is below that of all pods. Pure."""
    driver = "systemd" if ":" in cgroup else "cgroupfs"
    with suppress(CgroupNameError):
        pods = join(parse_root(cgroup_root, driver), _PODS)
        return _name_of(cgroup, driver)[: len(pods)] == pods
    return False


def _name_of(cgroup: str, driver: str) -> CgroupName:
    """`/kubepods/pod1/<id>`, or `kubepods-pod1.slice:cri-containerd:<id>`. Raises CgroupNameError."""
    return parse_root(cgroup.partition(":")[0] if driver == "systemd" else cgroup, driver)


def _cgroup_of(pid: int) -> str:
    """As in the bundle, in which the shim runs; '' if that cannot be read."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return msgspec.json.decode(read_private(f"/proc/{pid}/cwd/config.json"), type=_Bundle).linux.cgroups_path
    return ""
