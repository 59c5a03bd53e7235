"""Which ends the kernel's OOM killer explains, by the counts of made-up cgroups."""

import shutil
from pathlib import Path

import pytest

from supervision.fork_server.oom_kills import CLAIM_SECONDS, MemoryHierarchy, OomKills, hierarchy, kills

V1 = "33 31 0:32 / {} rw,relatime - cgroup cgroup rw,memory\n"
V2 = "41 31 0:38 {} {} rw,relatime shared:9 - cgroup2 cgroup2 rw\n"


class Host:
    """A host whose processes are in the cgroups that the test says."""

    def __init__(self, directory: Path, version: int, root: str = "/") -> None:
        self.proc, self.cgroups, self.version = directory / "proc", directory / "cgroups", version
        self._write(
            self.proc / "self/mountinfo", V1.format(self.cgroups) if version == 1 else V2.format(root, self.cgroups)
        )

    def count(self, group: str, kills: int) -> None:
        name = "memory.oom_control" if self.version == 1 else "memory.events.local"
        self._write(self.cgroups / group.lstrip("/") / name, f"under_oom 0\noom_kill {kills}\noom_group_kill 0\n")

    def process(self, pid: int | str, group: str) -> None:
        line = f"4:memory:{group}" if self.version == 1 else f"0::{group}"
        self._write(self.proc / str(pid) / "cgroup", f"8:pids:/other\n{line}\n")

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(params=[1, 2])
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    made = Host(tmp_path, request.param)
    made.process("self", "/agent")
    made.count("/agent", 3)
    return made


def test_a_kill_that_was_counted_in_the_cgroup_of_a_process_explains_its_end(host: Host) -> None:
    host.process(7, "/small")
    host.count("/small", 0)
    found = OomKills(host.proc)
    found.look([7], 1.0)
    host.count("/small", 1)
    assert found.explain(7, 2.0) == (
        "out of memory: the kernel's OOM killer ended a process of its cgroup /small at that time (oom_kill is 1 now)"
    )


def test_an_end_without_a_new_kill_is_not_explained(host: Host) -> None:
    found = OomKills(host.proc)
    found.look([], 1.0)
    assert found.explain(7, 2.0) == ""


def test_an_end_in_a_cgroup_that_was_removed_or_cannot_be_read_is_not_explained(host: Host) -> None:
    """As without a free descriptor. An error here would end the fork server, and so the agent."""
    host.process(7, "/small")
    host.count("/small", 0)
    found = OomKills(host.proc)
    found.look([7], 1.0)
    shutil.rmtree(host.cgroups / "small")
    assert found.explain(7, 2.0) == ""
    assert found.explain(7, 3.0) == ""


def test_one_kill_explains_one_end_of_those_that_share_a_cgroup(host: Host) -> None:
    for pid in (7, 8):
        host.process(pid, "/agent")
    found = OomKills(host.proc)
    found.look([7, 8], 1.0)
    host.count("/agent", 4)
    assert [bool(found.explain(pid, 2.0)) for pid in (7, 8)] == [True, False]
    host.count("/agent", 6)
    assert [bool(found.explain(pid, 3.0)) for pid in (7, 8, 9)] == [True, True, False]


def test_a_process_that_is_reaped_long_after_its_kill_is_explained(host: Host) -> None:
    host.process(7, "/agent")
    found = OomKills(host.proc)
    found.look([7], 1.0)
    host.count("/agent", 4)
    found.look([7], 2.0)
    assert found.explain(7, 4.0)


def test_a_kill_that_no_end_of_ours_follows_explains_none_later(host: Host) -> None:
    host.process(7, "/agent")
    found = OomKills(host.proc)
    found.look([7], 1.0)
    host.count("/agent", 4)
    found.look([7], 2.0)
    assert found.explain(7, 2.0 + CLAIM_SECONDS + 1.0) == ""


def test_a_process_that_is_ending_is_looked_for_in_its_last_cgroup(tmp_path: Path) -> None:
    host = Host(tmp_path, 1)
    host.process("self", "/")
    host.count("/", 0)
    host.count("/small", 0)
    host.process(7, "/small")
    found = OomKills(host.proc)
    found.look([7], 1.0)
    host.count("/small", 1)
    host.process(7, "/")
    found.look([7], 2.0)
    assert "/small" in found.explain(7, 2.5)


def test_a_process_that_was_just_forked_is_in_the_cgroup_of_the_fork_server(host: Host) -> None:
    found = OomKills(host.proc)
    found.look([], 1.0)
    host.count("/agent", 4)
    assert "/agent" in found.explain(7, 1.5)


def test_a_host_without_cgroups_explains_nothing(tmp_path: Path) -> None:
    found = OomKills(tmp_path)
    found.look([7], 1.0)
    assert found.explain(7, 2.0) == ""


def test_the_hierarchy_is_the_one_that_has_the_memory_controller() -> None:
    assert hierarchy(V2.format("/", "/u")) == MemoryHierarchy("", "/", "/u")
    assert hierarchy(V2.format("/", "/u") + V1.format("/m")) == MemoryHierarchy("memory", "/", "/m")
    assert hierarchy("1 0 0:1 / / rw - ext4 /dev/vda rw\n") is None


def test_a_cgroup_in_a_container_is_below_the_root_of_its_mount() -> None:
    found = MemoryHierarchy("", "/docker/x", "/sys/fs/cgroup")
    assert found.counts("/docker/x/agent") == Path("/sys/fs/cgroup/agent/memory.events.local")
    assert found.counts("/docker/x") == Path("/sys/fs/cgroup/memory.events.local")


def test_a_kernel_that_does_not_count_is_known() -> None:
    assert kills("low 0\noom 2\n") is None
    assert kills("oom 2\noom_kill 1\noom_group_kill 0\n") == 1
