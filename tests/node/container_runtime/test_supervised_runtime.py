"""The managed containerd as a box of the tree: replaced when it dies, while pods go on; ended with the fork server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime import image_import
from actors.container_runtime.host import look
from actors.container_runtime.host_setup import prepare
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.container_runtime.program import child_spec
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import StillStarting
from actors.shared.cri.model import CriContainerState
from supervision.application import Application
from supervision.protocol import Done, RollingRestart
from supervision.spec import ChildSpec, Policy
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fork_server_process import ForkServerProcess, exists, fork_server_running
from tests.support.incident_file import IncidentFile, incidents
from tests.support.runtime import PREFIX, SEARCH, RealRuntime

HERE = "tests.node.container_runtime.test_supervised_runtime"
SECONDS = 60.0
"""For containerd to come up, on a slow disk."""


def application(run_dir: Path) -> Application:
    """A tree of nothing but the runtime."""
    base = run_dir.parent
    instance = ManagedRuntime(root=f"{base}/root", state=f"{base}/run")
    tree = ChildSpec(name="root", children=(child_spec(instance, look(instance.root, os.environ.get(SEARCH, ""))),))
    policies = {"root": Policy(), CONTAINER_RUNTIME: Policy(memory_mib=0, start_seconds=SECONDS)}
    incident_file = IncidentFile(base / "incidents")
    return Application(name="test", tree=tree, policies=policies, context="", run_dir=run_dir, incidents=incident_file)


@pytest.fixture
def runtime() -> Iterator[RealRuntime]:
    """Prepared and with images, but not running."""
    base = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    made = RealRuntime(base, look(str(base), os.environ.get(SEARCH, "")))
    try:
        prepare(made.instance, made.host)
        assert image_import.ensure_images(made.instance, made.host)
        yield made
    finally:
        left = made.purge()
    assert not left


@contextlib.contextmanager
def deaf_in_place_of(path: Path) -> Iterator[None]:
    """Whoever connects there meanwhile gets no answer. The name is the program's again once it is started again."""
    aside = path.with_suffix(".deaf")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(aside))
        deaf.listen()
        aside.rename(path)
        yield


async def pod(runtime: RealRuntime) -> str:
    """The id of a running container."""
    await runtime.ready()
    client = CriClient(runtime.endpoint)
    config = sandbox_config(runtime.cgroup_parent)
    sandbox = await client.run_pod_sandbox(config)
    container = await client.create_container(sandbox, container_config(config), config)
    await client.start_container(container)
    await client.close()
    return container


async def started(runtime: RealRuntime, container: str) -> int:
    """When the running container was started."""
    await runtime.ready()
    client = CriClient(runtime.endpoint)
    status = await client.container_status(container)
    await client.close()
    assert status.state is CriContainerState.RUNNING
    return status.started_ns


def test_a_killed_runtime_is_replaced_and_pods_keep_running(runtime: RealRuntime) -> None:
    with fork_server_running(f"{HERE}:application", runtime.base / "fork_server", ready=False) as fork_server:
        fork_server.wait_ready(SECONDS)
        assert fork_server.tree()[CONTAINER_RUNTIME].kind == "program"
        container = asyncio.run(pod(runtime))
        before = asyncio.run(started(runtime, container))
        fork_server.kill(CONTAINER_RUNTIME)
        fork_server.wait_running(CONTAINER_RUNTIME, incarnation=2, timeout=SECONDS)
        assert asyncio.run(started(runtime, container)) == before
        asyncio.run(pod(runtime))
        assert [incident["name"] for incident in incidents(runtime.base / "incidents")] == [CONTAINER_RUNTIME]


def test_a_runtime_whose_configuration_was_damaged_starts_with_a_whole_one(runtime: RealRuntime) -> None:
    with fork_server_running(f"{HERE}:application", runtime.base / "fork_server", ready=False) as fork_server:
        fork_server.wait_ready(SECONDS)
        Path(runtime.instance.config_file).write_text("version = [")
        fork_server.kill(CONTAINER_RUNTIME)
        fork_server.wait_running(CONTAINER_RUNTIME, incarnation=2, timeout=SECONDS)
        assert [incident["name"] for incident in incidents(runtime.base / "incidents")] == [CONTAINER_RUNTIME]


def test_an_unresponsive_runtime_is_replaced_and_pods_keep_running(runtime: RealRuntime) -> None:
    with fork_server_running(f"{HERE}:application", runtime.base / "fork_server", ready=False) as fork_server:
        fork_server.wait_ready(SECONDS)
        container = asyncio.run(pod(runtime))
        before = asyncio.run(started(runtime, container))
        fork_server.kill(CONTAINER_RUNTIME, signal.SIGSTOP)
        fork_server.wait(lambda: fork_server.tree()[CONTAINER_RUNTIME].incarnation == 2, "it is replaced", SECONDS)
        fork_server.wait_running(CONTAINER_RUNTIME, incarnation=2, timeout=SECONDS)
        assert asyncio.run(started(runtime, container)) == before
        (incident,) = incidents(runtime.base / "incidents")
        assert (incident["name"], incident["cause"]) == (CONTAINER_RUNTIME, "hang")
        assert "no answer to actors.shared.cri.liveness:probe" in str(incident["detail"])


async def start_a_container_that_never_starts(runtime: RealRuntime, logs: Path) -> None:
    """The log of the container is a pipe that nobody reads: containerd waits for a reader, whoever gives up."""
    await runtime.ready()
    client = CriClient(runtime.endpoint)
    config = sandbox_config(runtime.cgroup_parent, logs)
    sandbox = await client.run_pod_sandbox(config)
    container = await client.create_container(sandbox, container_config(config), config)
    os.mkfifo((await client.container_status(container)).log_path)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.start_container(container), 0.5)
    with pytest.raises(StillStarting):
        await client.remove_container(container)
    await client.close()


def test_an_unresponsive_runtime_dumps_its_stacks_before_it_is_killed(
    runtime: RealRuntime,
) -> None:
    with fork_server_running(f"{HERE}:application", runtime.base / "fork_server", ready=False) as fork_server:
        fork_server.wait_ready(SECONDS)
        container = asyncio.run(pod(runtime))
        before = asyncio.run(started(runtime, container))
        with deaf_in_place_of(Path(runtime.instance.socket)):
            fork_server.wait(lambda: fork_server.tree()[CONTAINER_RUNTIME].incarnation == 2, "it is replaced", SECONDS)
        fork_server.wait_running(CONTAINER_RUNTIME, incarnation=2, timeout=SECONDS)
        assert asyncio.run(started(runtime, container)) == before
        (incident,) = incidents(runtime.base / "incidents")
        assert (incident["name"], incident["cause"]) == (CONTAINER_RUNTIME, "hang")
        stacks = Path(runtime.instance.temporary, f"containerd.{incident['pid']}.stacks.log")
        assert f"its stacks, if it wrote any, are in {stacks}" in str(incident["detail"])
        assert "goroutine 1 [" in stacks.read_text()


def test_an_ordered_restart_ends_a_hanging_start_and_is_no_incident(runtime: RealRuntime, tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:application", runtime.base / "fork_server", ready=False) as fork_server:
        fork_server.wait_ready(SECONDS)
        running = asyncio.run(pod(runtime))
        before = asyncio.run(started(runtime, running))
        asyncio.run(start_a_container_that_never_starts(runtime, tmp_path))
        assert fork_server.ask(RollingRestart((CONTAINER_RUNTIME,)), Done) == Done()
        fork_server.wait_running(CONTAINER_RUNTIME, incarnation=2, timeout=SECONDS)
        assert asyncio.run(started(runtime, running)) == before
        asyncio.run(runtime.remove_pods())
        assert incidents(runtime.base / "incidents") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_runtime_ends_with_the_fork_server_and_pods_run_until_the_next_one(
    runtime: RealRuntime, number: signal.Signals
) -> None:
    fork_server = ForkServerProcess(f"{HERE}:application", runtime.base / "fork_server")
    fork_server.wait_ready(SECONDS)
    container = asyncio.run(pod(runtime))
    before = asyncio.run(started(runtime, container))
    pid = fork_server.pid(CONTAINER_RUNTIME)
    fork_server.process.send_signal(number)
    fork_server.wait_end(30)
    fork_server.wait(lambda: not exists(pid), "containerd ends with the fork server")
    with fork_server_running(f"{HERE}:application", runtime.base / "fork_server", ready=False):
        assert asyncio.run(started(runtime, container)) == before
