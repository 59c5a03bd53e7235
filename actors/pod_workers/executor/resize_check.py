"""Before memory limits are lowered in place: whether the pod and its containers use less (KEP-1287)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from actors.shared.cri.client import CriClient
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import cgroup_limits
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats import cgroup_usage

from . import pod_processes


class LimitChange(msgspec.Struct, frozen=True):
    """The memory limit of a container, in bytes. 0: none, or not known."""

    name: str
    container_id: str
    before: int
    after: int

    @property
    def is_lower(self) -> bool:
        return self.after > 0 and (self.before == 0 or self.after < self.before)


class UsageAboveLimit(Exception):
    """A new limit is below the use, so the kernel would kill a process at once."""


async def check_use(client: CriClient, pod: Pod, changes: Iterable[LimitChange], cgroups: Iterable[str]) -> None:
    """Compare each lower limit with the use, before any limit is set. `cgroups`: the possible cgroups of the pod.
    Raises CriError, UsageAboveLimit."""
    tree = pod_processes.tree()
    found = [text for cgroup in cgroups if (text := pod_text(tree, cgroup, cgroup_limits(pod).get("memory", 0)))]
    for change in changes:
        if not change.is_lower:
            continue
        memory = (await client.container_stats(change.container_id)).memory
        used = memory.usage_bytes if memory is not None else None
        if used is not None and used >= change.after:
            found.append(_text(f'container "{change.name}"', change.after, used))
    if found:
        raise UsageAboveLimit(f"cannot decrease memory limits: {_joined(found)}")


def pod_text(tree: CgroupTree, cgroup: str, limit: int) -> str:
    """Why the pod's cgroup cannot get this lower limit (bytes); '' if it can, or does not exist."""
    now = cgroup_usage.read(tree, cgroup)
    lower = limit > 0 and (now.memory_limit_bytes is None or limit < now.memory_limit_bytes)
    if not lower or now.memory_bytes is None or now.memory_bytes < limit:
        return ""
    return _text("pod", limit, now.memory_bytes)


def _text(whose: str, limit: int, used: int) -> str:
    return f"attempting to set {whose} memory limit ({limit}) below current usage ({used})"


def _joined(texts: Sequence[str]) -> str:
    """Several errors as Go writes them."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
