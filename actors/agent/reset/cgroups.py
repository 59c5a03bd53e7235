"""Finds the cgroups of an agent on its host, and what keeps them from being removed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from actors.container_manager.cgroups.pod_cgroups import PODS, TIERS
from actors.container_runtime import processes
from actors.shared.linux.cgroup_names import CgroupNameError, parse_root, path_of

from .scope import Scope


def cgroups(scope: Scope) -> set[str]:
    """The cgroups of pods, without the leading slash, named by UID in the form of either cgroup driver."""
    found: set[str] = set()
    present = processes.hierarchies()
    for root in dict.fromkeys(one.cgroup_root for one in scope.starts):
        for driver in ("cgroupfs", "systemd"):
            with suppress(CgroupNameError):
                top = (*parse_root(root, driver), PODS)
                names = [(*top, *tier, f"pod{uid}") for uid in scope.uids() for tier in TIERS.values()]
                paths = [path_of(name, driver).strip("/") for name in names]
                found |= {path for path in paths if any(Path(each, path).is_dir() for each in present)}
    return found


def emptied_cgroups(scope: Scope) -> list[str]:
    """The cgroups above the pods' cgroups, the lowest first: they are removed when they are empty."""
    found = []
    for root in [] if scope.keep_pods else dict.fromkeys(one.cgroup_root for one in scope.starts):
        for driver in ("cgroupfs", "systemd"):
            with suppress(CgroupNameError):
                above = parse_root(root, driver)
                names = [(*above, PODS, *tier) for tier in reversed([*TIERS.values()])]
                found += [path_of(name, driver).strip("/") for name in names]
    return found


def own_cgroups(scope: Scope) -> list[str]:
    """Those of them that no other agent shares, as they are below a cgroup that this agent has made."""
    made = tuple(f"{path}/" for path in scope.made)
    present = processes.hierarchies()
    return [one for one in emptied_cgroups(scope) if any(f"{each}/{one}".startswith(made) for each in present)]


def kept_for_others(scope: Scope) -> list[str]:
    """The others of them, as far as they are there."""
    present, shared = processes.hierarchies(), set(emptied_cgroups(scope)) - set(own_cgroups(scope))
    return sorted(f"/{one}" for one in shared if any(Path(each, one).is_dir() for each in present))


def others_in_cgroups(scope: Scope) -> Iterator[str]:
    """Processes and cgroups of others that keep the agent's cgroups, and those above the pods' cgroups, from being
    removed."""
    above = {f"/{group}" for group in emptied_cgroups(scope)}
    present = processes.hierarchies()
    made = {path.removeprefix(top) for top in present for path in scope.made if path.startswith(f"{top}/")}
    own = {f"/{group}" for group in cgroups(scope)}
    seen = set()
    for group in sorted(above | made):
        for top in present:
            for name in _directories(f"{top}{group}"):
                below = f"{group}/{name}"
                if not any(f"{one}/".startswith(f"{below}/") for one in (*above, *made, *own)):
                    seen.add(f"cgroup {below}")
            if _text(f"{top}{group}/cgroup.procs"):
                seen.add(f"cgroup {group}, with processes of others")
    yield from sorted(seen)


def _directories(path: str) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
