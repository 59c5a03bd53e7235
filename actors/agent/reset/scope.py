"""The scope of a reset: the starts of an agent that it covers, and what these made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import msgspec

from actors.container_runtime.instance import ManagedRuntime
from actors.shared.config.paths import state_dir_of
from actors.shared.config.start.start_records import StartRecord

_CGROUPS: Final = "/sys/fs/cgroup/"
"""Earlier versions recorded cgroups in `made`, without the boot ID: these may be of an earlier boot."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The scope of a search for what an agent has left."""

    starts: Sequence[StartRecord]
    """The records of all starts, the newest last; at least one."""
    keep_pods: bool = False
    """Keep the pods, and everything that another agent needs to take them over."""
    boot: str = ""
    """The boot ID of the kernel."""

    @property
    def root_dir(self) -> str:
        return self.starts[-1].root_dir

    @property
    def state_dir(self) -> str:
        return state_dir_of(self.root_dir)

    @property
    def made(self) -> frozenset[str]:
        found = {path for one in self.starts for path in one.made if not path.startswith(_CGROUPS)}
        return frozenset(found.union(*(one.made_cgroups for one in self.starts if one.boot == self.boot)))

    @property
    def instances(self) -> list[ManagedRuntime]:
        """The managed containerds; in practice at most one."""
        pairs = dict.fromkeys((one.managed_root, one.managed_state) for one in self.starts if one.managed_root)
        return [ManagedRuntime(root=root, state=state) for root, state in pairs]

    @property
    def endpoints(self) -> list[str]:
        """The endpoints of other runtimes."""
        return list(dict.fromkeys(one.runtime_endpoint for one in self.starts if not one.managed_root))

    def uids(self) -> list[str]:
        """The UIDs of the pods that have a directory. A file beside these may be a manifest of the user."""
        top = f"{self.root_dir}/pods"
        return [] if self.keep_pods else [name for name in names_in(top) if os.path.isdir(f"{top}/{name}")]


def names_in(directory: str) -> list[str]:
    """The sorted names in a directory; none if there is no such directory."""
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
