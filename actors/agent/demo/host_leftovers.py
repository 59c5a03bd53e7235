"""What the demo's node leaves on the host, and its removal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from actors.container_runtime import cleanup
from actors.container_runtime.instance import ManagedRuntime
from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.shared.linux.removal import remove_tree
from supervision.fork_server.lock import AlreadyRunning, Lock

from .layout import DemoLayout


def remove_traces(layout: DemoLayout, agent: Agent) -> list[str]:
    """Remove everything that is left. Returns what could not be removed."""
    left: list[str] = []
    if agent.managed_runtime:
        instance = ManagedRuntime(root=agent.managed_runtime_dir, state=agent.managed_state_dir)
        left += cleanup.purge(instance, (f"{layout.cgroup}/kubepods", layout.cgroup))
    left += cleanup.unmount_below(layout.root)
    _unlink_links(agent.container_logs_dir, layout.root)
    left += _remove_run_dir(Path(agent.run_dir), Path(agent.state_dir))
    if any(_mounts_below(layout.root)):
        return [*left, layout.root]  # never delete files below a mount
    with suppress(OSError):  # seen below
        remove_tree(layout.root)
    return [*left, layout.root] if os.path.exists(layout.root) else left


def _remove_run_dir(directory: Path, lock_dir: Path) -> list[str]:
    """Under the agent's lock: the janitor of a killed fork server may still work there for a moment."""
    if not directory.exists():
        return []
    lock_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        lock = Lock(lock_dir)
    except AlreadyRunning as error:
        return [f"{directory} ({error})"]
    shutil.rmtree(directory, ignore_errors=True)
    lock.release()
    return []


def _unlink_links(directory: str, target: str) -> None:
    """Remove the links there that lead to something below `target`."""
    for link in Path(directory).glob("*.log"):
        if link.is_symlink() and os.readlink(link).startswith(f"{target}/"):
            link.unlink(missing_ok=True)


def _mounts_below(directory: str) -> Iterator[str]:
    real = os.path.realpath(directory)
    return (one.point for one in mountinfo.read() if one.point == real or one.point.startswith(f"{real}/"))
