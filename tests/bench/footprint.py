"""What the agent costs while nothing happens: CPU and memory of every process of it. The runtime is not counted."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .node import Node


def processes(node: Node) -> dict[str, int]:
    """Pids by name: the fork server, what it forked beside the actors, the actors."""
    actors = {name: actor.pid for name, actor in node.actors().items() if actor.pid}
    known = {node.fork_server_pid, *actors.values()}
    others = {f"fork_server/{pid}": pid for pid in _children(node.fork_server_pid) if pid not in known}
    others = {"fork_server/janitor" if len(others) == 1 else name: pid for name, pid in others.items()}
    return {"fork_server": node.fork_server_pid, **others, **actors}


def cpu_percent(node: Node, seconds: float) -> dict[str, float]:
    """Of one core, by process, over so many seconds."""
    pids = processes(node)
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    started_at = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - started_at
    return {name: 100 * (cpu_seconds(pid) - before[name]) / took for name, pid in pids.items()}


def cpu_seconds(pid: int) -> float:
    """Of all threads, from the scheduler, which counts nanoseconds; without it in ticks of the clock."""
    tasks = Path(f"/proc/{pid}/task")
    try:
        return sum(int(Path(task, "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
    except FileNotFoundError:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_mib(node: Node) -> dict[str, float]:
    """Resident memory, each shared page divided by those who share it, by process."""
    return {name: smaps(pid, "Pss") / 1024 for name, pid in processes(node).items()}


def smaps(pid: int, field: str) -> int:
    """KiB."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


def _children(parent: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        found += [int(pid) for pid in Path(task, "children").read_text().split()]
    return found
