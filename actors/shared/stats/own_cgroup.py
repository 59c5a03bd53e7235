"""The agent's own cgroup."""

from __future__ import annotations


def own_cgroup(proc: str = "/proc") -> str:
    """The agent's own cgroup, from /proc/self/cgroup (cgroups(7)). Empty if the agent has different
    v1 cgroups for CPU and for memory: one of them would also count other processes. The kubelet does the same."""
    try:
        with open(f"{proc}/self/cgroup", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return ""
    by_controller = {name: path for _, names, path in lines for name in names.split(",")}
    if "memory" not in by_controller:
        return by_controller.get("", "")
    memory = by_controller["memory"]
    return memory if by_controller.get("cpu") == memory else ""
