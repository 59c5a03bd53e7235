"""Names of cgroups: a path of plain parts, and its form in each driver.

`("kubepods", "burstable", "pod1-2")` is `/kubepods/burstable/pod1-2` with the cgroupfs driver and
`/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice` with systemd's (systemd.slice(5)).
"""

from __future__ import annotations

from collections.abc import Iterable

CgroupName = tuple[str, ...]
_SLICE = ".slice"


class CgroupNameError(ValueError):
    """The part is not valid in a cgroup name."""


def join(parent: CgroupName, *parts: str) -> CgroupName:
    """Raises CgroupNameError for a part that is not a plain name."""
    for part in parts:
        if not part or part in {".", ".."} or "/" in part or "\0" in part or "\n" in part:
            raise CgroupNameError(f"not a name for a cgroup: {part!r}")
    return (*parent, *parts)


def parse_root(text: str, driver: str) -> CgroupName:
    """Parse cgroupRoot: `/a/b`, or with the systemd driver a slice, `a-b.slice`."""
    parts = [part for part in text.split("/") if part]
    if driver == "systemd" and parts and parts[-1].endswith(_SLICE):
        return tuple(_unescape(part) for part in parts[-1].removesuffix(_SLICE).split("-"))
    return join((), *parts)


def plain_path(text: str) -> str:
    """The path of a cgroup whose name does not depend on the driver: kubeletCgroups, systemCgroups,
    --runtime-cgroups."""
    return "/" + "/".join(join((), *(part for part in text.split("/") if part)))


def path_of(name: CgroupName, driver: str) -> str:
    """The path of the cgroup below each hierarchy's mount point, with a leading slash."""
    if driver != "systemd":
        return "/" + "/".join(name)
    return "/" + "/".join(slice_of(name[: length + 1]) for length in range(len(name)))


def slice_of(name: CgroupName) -> str:
    """The systemd unit of that name. The root slice is `-.slice`."""
    return ("-".join(_escape(part) for part in name) or "-") + _SLICE


def unescaped(parts: Iterable[str], driver: str) -> list[str]:
    """Convert directory names below a cgroup to parts: the last part of each slice."""
    if driver != "systemd":
        return list(parts)
    return [
        _unescape(part.removesuffix(_SLICE).rpartition("-")[2]) if part.endswith(_SLICE) else part for part in parts
    ]


def _escape(part: str) -> str:
    return part.replace("-", "_")


def _unescape(part: str) -> str:
    return part.replace("_", "-")
