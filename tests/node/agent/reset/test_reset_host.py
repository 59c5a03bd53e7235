"""`supervise reset` with real containers: all of the agent goes, all of others stays."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime.processes import hierarchies
from actors.shared.cri.client import CriClient
from actors.shared.linux import mountinfo
from actors.shared.linux.cgroup_tree import find
from tests.bench.pods import bare_container, bare_sandbox
from tests.support.faulty_node import FaultyNode
from tests.support.fork_server_process import ROOT_DIR
from tests.support.managed import managed_runtime
from tests.support.remains import links_into, remains
from tests.support.runtime import RealRuntime

pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]
NUMBERS = itertools.count()


@pytest.fixture
def node(real_runtime: RealRuntime) -> Iterator[FaultyNode]:
    made = FaultyNode(real_runtime, f"reset{next(NUMBERS)}")
    try:
        yield made
    finally:
        made.remove()


def supervise(node: FaultyNode, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.agent.command", *words]
    return subprocess.run(
        command, cwd=ROOT_DIR, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False
    )


def reset(node: FaultyNode, *words: str) -> subprocess.CompletedProcess[str]:
    return supervise(node, "reset", f"--root-dir={node.home}/root", *words)


def stranger(runtime: RealRuntime, hosts: Path) -> str:
    """A pod of somebody else at the same runtime: the id of its running container."""

    async def make() -> str:
        client = CriClient(runtime.endpoint)
        config = bare_sandbox(f"{runtime.cgroup_parent}/others")
        sandbox = await client.run_pod_sandbox(config)
        container = await client.create_container(sandbox, bare_container(config, str(hosts)), config)
        await client.start_container(container)
        await client.close()
        return container

    return asyncio.run(make())


def left_on(node: FaultyNode) -> dict[str, object]:
    """What the host still has of the agent."""
    root = f"{node.home}/root"
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/{node.cgroup.strip('/')}/**/pod*")]
    found = {
        "mounts": mountinfo.below(mountinfo.read(), root),
        "cgroups": groups,
        "links": [*links_into(node.home)],
        "logs": [*(node.home / "logs").glob("*")],
        "files": [*Path(root).glob("**/*")],
        "sockets": [str(node._run_dir)] if node._run_dir.exists() else [],
    }
    return {kind: values for kind, values in found.items() if values}


def test_reset_after_a_stop_removes_everything_of_the_agent_and_nothing_else(node: FaultyNode) -> None:
    node.start()
    node.add("a", "b")
    node.wait_running("a", "b")
    running = reset(node, "--yes")
    assert running.returncode == 4
    assert f"an agent with pid {node.fork_server_pid} runs on" in running.stderr
    node.stop()
    other = stranger(node.runtime, Path("/etc/hostname"))
    operators = Path(node.home, "root", "config.yaml")
    operators.write_text("of the operator")
    before = {container.id for container in node.containers()}
    assert len(before) == 3
    for words, code in (((), 4), (("--dry-run",), 0)):
        done = reset(node, *words)
        assert done.returncode == code, done.stderr
        assert "bench/a-bench" in done.stdout
        assert f"{operators} (stays)" in done.stdout
        assert {container.id for container in node.containers()} == before, "it has only listed"
    assert "there is no terminal to ask on" in reset(node).stderr
    done = reset(node, "--yes")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    stays = done.stdout.partition("nothing of the agent is left; what is not its own stays:\n")[2].split()
    assert str(operators) in stays
    assert [container.id for container in node.containers()] == [other]
    assert left_on(node) == {"files": [operators]}
    again = reset(node, "--yes")
    assert (again.returncode, again.stdout) == (0, f"there is nothing of an agent in {node.home}/root\n")


def test_reset_after_a_crash_finds_the_pods_despite_a_changed_configuration(node: FaultyNode) -> None:
    node.start()
    node.add("a")
    node.wait_running("a")
    node.kill_fork_server()
    Path(node.home, "config.json").unlink()
    done = reset(node, "--yes", "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["removed"]
    assert len(said["found"]["cgroups"]) == 1
    assert node.containers() == []
    assert left_on(node) == {}


def test_reset_removes_a_cgroup_root_only_if_the_agent_created_it(node: FaultyNode) -> None:
    found = f"{node.runtime.cgroup_parent}/found"
    made = f"{found}/made"
    find().create(found)

    def where(cgroup: str) -> set[str]:
        return {hierarchy for hierarchy in hierarchies() if Path(f"{hierarchy}{cgroup}").exists()}

    before = where(found)
    file = Path(node.home, "config.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "cgroupRoot": made}))
    node.start()
    node.add("a")
    node.wait_running("a")
    node.stop()
    assert where(made) >= before
    assert reset(node, "--yes").returncode == 0
    assert where(made) == set()
    assert where(found) >= before


def test_reset_removes_the_pods_of_run_once(node: FaultyNode) -> None:
    node.add("a")
    done = supervise(node, "run-once", "--timeout=60", *node._flags())
    assert done.returncode == 0, done.stderr
    assert set(node.running()) == {"a"}
    assert reset(node, "--yes").returncode == 0
    assert node.containers() == []
    assert left_on(node) == {}


def test_reset_removes_nothing_without_the_runtime_unless_a_flag_allows_it(node: FaultyNode) -> None:
    node.start()
    node.add("a")
    node.wait_running("a")
    node.stop()
    node.runtime.kill()
    done = reset(node, "--yes")
    assert done.returncode == 4
    assert "start the runtime" in done.stderr
    assert Path(node.home, "root", "pods").exists()
    assert reset(node, "--dry-run").returncode == 0
    done = reset(node, "--yes", "--without-runtime")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing is left"), done.stderr
    assert left_on(node) == {}
    node.runtime.start()
    asyncio.run(node.runtime.ready())
    node.until(lambda: node.running() == {}, "the runtime sees that they were killed")


def test_reset_removes_the_managed_runtime_with_its_pods_images_and_network() -> None:
    with managed_runtime() as runtime:
        node = FaultyNode(runtime)
        try:
            node.start()
            node.add("a", "b")
            node.wait_running("a", "b")
            node.kill_fork_server()
            done = reset(node, "--yes")
            assert (done.returncode, done.stderr) == (0, ""), done.stdout
            for text in (f"bridge {runtime.instance.network}", "containerd-shim", "bench/a-bench"):
                assert text in done.stdout
            left = remains(runtime.instance, f"{node.cgroup}/**/pod*", f"{node.home}/root", str(node._run_dir))
            assert left == {}
            assert not os.path.exists(f"{node.home}/root"), [*Path(node.home, "root").rglob("*"), done.stdout]
        finally:
            node.remove()
