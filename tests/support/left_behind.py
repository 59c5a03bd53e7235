"""What a run of tests has left on the host: files and mounts in its directory for temporary files, processes, run
directories and cgroups of agents.

All processes that the run has started know the directory by their environment. What agents have outside of it is
whatever was not there before.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from actors.shared.linux import mountinfo

KEPT_BY_PYTEST = "p"
"""The directory that has those of tmp_path, which pytest keeps until its next run."""
POLL_SECONDS = 0.1


def of_agents(host: Path = Path("/")) -> frozenset[Path]:
    """The run directories of agents, and the cgroups of tests."""
    cgroups = host / "sys/fs/cgroup"
    return frozenset(
        (
            *host.glob("run/troupelet*"),
            *(path for place in ("", "*/") for path in cgroups.glob(f"{place}troupelet-test-*")),
        )
    )


def left_behind(directory: Path, seconds: float, known: frozenset[Path], host: Path = Path("/")) -> list[str]:
    """One line each. What ends by itself has `seconds` to do so. `known`: what agents had before (of_agents)."""
    end = time.monotonic() + seconds
    while (found := _now(directory, known, host)) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return found


def _now(directory: Path, known: frozenset[Path], host: Path) -> list[str]:
    mounts = mountinfo.below(mountinfo.read(), str(directory))
    return [
        *(f"process {pid}: {words}" for pid, words in processes(directory)),
        *(f"mount {mount.point}" for mount in mounts),
        *(f"file {path}" for path in sorted(directory.iterdir()) if path.name != KEPT_BY_PYTEST),
        *(f"of an agent {path}" for path in sorted(of_agents(host) - known)),
    ]


def processes(directory: Path) -> list[tuple[int, str]]:
    """Pid and command line of those that keep their temporary files in the directory or below it."""
    own, below = f"TMPDIR={directory}".encode(), f"TMPDIR={directory}/".encode()
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if pid != os.getpid() and any(each == own or each.startswith(below) for each in environment):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found.append((pid, words))
        except OSError:
            continue  # it has ended, or is somebody else's
    return found
