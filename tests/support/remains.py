"""What an agent of a test, and the runtime that it used, have on the host: for the claim that nothing is left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from actors.container_runtime import cleanup
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.processes import commands
from actors.shared.config.agent import CONTAINER_LOGS_DIR
from actors.shared.config.paths import run_dir_of, state_dir_of
from actors.shared.linux import mountinfo


def root_dirs(base: Path) -> list[str]:
    """The root directories of the agents that keep their files below `base`: <base>/<name>/root."""
    return [str(path) for path in base.glob("*/root") if path.is_dir()]


def managed(root_dir: str) -> ManagedRuntime:
    """The containerd that an agent with this root directory would have of its own."""
    return ManagedRuntime(root=f"{state_dir_of(root_dir)}/containerd", state=f"{run_dir_of(root_dir)}-containerd")


def links_into(directory: Path) -> Iterator[Path]:
    """The links of log collectors that lead below the directory: they are in one place for all agents of a host."""
    for link in Path(CONTAINER_LOGS_DIR).glob("*.log"):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith(f"{directory}/"):
            yield link


def take_away(base: Path) -> list[str]:
    """Undo what ended agents below `base` have outside of it, and their mounts. Answers what stayed mounted."""
    for link in links_into(base):
        link.unlink(missing_ok=True)
    return cleanup.unmount_below(str(base))


def remains(instance: ManagedRuntime, cgroup: str, *paths: str) -> dict[str, list[str]]:
    """All there is on the host of this containerd, of pods below this cgroup, and of files below these paths."""
    tops = (*paths, instance.state, instance.root)
    found = {
        "processes": [f"{pid} {' '.join(argv)}" for pid, argv in commands() if _names(argv, (*tops, instance.socket))],
        "mounts": [one.point for one in mountinfo.read() if any(_below(one.point, top) for top in tops)],
        "cgroups": [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/{cgroup.strip('/')}")],
        "links": [str(link) for top in paths for link in links_into(Path(top))],
        "network": _lines(instance.network, "ip", "-o", "link"),
        "rules": [*_lines(instance.network, "iptables-save"), *_lines(instance.network, "ip6tables-save")],
        "results": [str(path) for path in Path(cleanup.RESULTS_DIR).glob(f"{instance.network}-*")],
        "files": [path for path in tops if os.path.lexists(path)],
    }
    return {kind: values for kind, values in found.items() if values}


def _names(argv: list[str], paths: tuple[str, ...]) -> bool:
    return any(path in word for word in argv for path in paths)


def _below(point: str, top: str) -> bool:
    return point == top or point.startswith(f"{top}/")


def _lines(word: str, *argv: str) -> list[str]:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        return []
    return [line for line in done.stdout.splitlines() if word in line]
