"""Whether a lower memory limit has room for what is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.pod_workers.executor import pod_processes
from actors.pod_workers.executor.resize_check import LimitChange, UsageAboveLimit, check_use, pod_text
from actors.shared.cri.stats import ContainerStats, Memory
from actors.shared.kube.codec import decode_pod
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree


def tree(root: Path, **files: str) -> CgroupTree:
    """A v2 hierarchy with one cgroup, `pod`; `files` of the controller memory, by what follows `memory.`."""
    (root / "pod").mkdir()
    for name, text in files.items():
        (root / f"pod/memory.{name}").write_text(f"{text}\n")
    return CgroupTree((Hierarchy(str(root), frozenset({"memory"}), unified=True),))


@pytest.mark.parametrize(
    ("limit", "now", "text"),
    [
        (1000, "max", "attempting to set pod memory limit (1000) below current usage (1500)"),
        (1500, "2000", "attempting to set pod memory limit (1500) below current usage (1500)"),
        (1600, "2000", ""),
        (1000, "1000", ""),
        (0, "2000", ""),
    ],
)
def test_a_lower_limit_of_the_pod_must_be_above_what_it_uses(tmp_path, limit, now, text):
    assert pod_text(tree(tmp_path, current="1500", max=now), "/pod", limit) == text


def test_a_missing_cgroup_refuses_no_resize(tmp_path):
    assert pod_text(tree(tmp_path), "/elsewhere", 1) == ""


class Runtime:
    async def container_stats(self, container_id: str) -> ContainerStats:
        return ContainerStats(id=container_id, name="a", memory=Memory(at_ns=1, usage_bytes=1200))


@pytest.mark.parametrize(("before", "after"), [(1200, 1200), (1100, 1200), (1200, 0)])
async def test_a_limit_that_is_not_lowered_is_not_compared_with_the_use(tmp_path, monkeypatch, before, after):
    found = tree(tmp_path, current="1500", max="2000")
    monkeypatch.setattr(pod_processes, "tree", lambda: found)
    pod = decode_pod(msgspec.json.encode({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}))
    await check_use(Runtime(), pod, [LimitChange("a", "1", before, after)], ["/pod"])  # type: ignore[arg-type]


async def test_the_pod_is_named_before_its_containers(tmp_path, monkeypatch):
    found = tree(tmp_path, current="1500", max="2000")
    monkeypatch.setattr(pod_processes, "tree", lambda: found)
    limits = {"limits": {"memory": "1000"}}
    whole: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "resources": limits}]}}
    pod = decode_pod(msgspec.json.encode(whole))
    with pytest.raises(UsageAboveLimit) as refused:
        await check_use(Runtime(), pod, [LimitChange("a", "1", before=0, after=1000)], ["/pod"])  # type: ignore[arg-type]
    assert str(refused.value) == (
        "cannot decrease memory limits: [attempting to set pod memory limit (1000) below current usage (1500), "
        'attempting to set container "a" memory limit (1000) below current usage (1200)]'
    )
