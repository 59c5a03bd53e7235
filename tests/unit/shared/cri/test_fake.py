"""The fake's own verbs: failures on order, time in the test's hand, its command line."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, RuntimeFailure, Unavailable
from actors.shared.cri.model import CriContainerState
from proto import cri_pb2 as cri
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault
from tests.support.fake_cri.images import normalised
from tests.support.fake_cri.programs import program_of
from tests.support.fake_cri.world import RpcFailure


async def test_faults_affect_the_ordered_number_of_calls_in_order() -> None:
    fake = FakeRuntime()
    fake.faults.add("Version", Fault(error="UNAVAILABLE", times=2))
    fake.faults.add("Version", Fault(error="INTERNAL", times=1))
    client = fake.client()
    for kind in (Unavailable, Unavailable, RuntimeFailure):
        with pytest.raises(kind):
            await client.version()
    assert (await client.version()).name == "fake"


async def test_a_fault_of_every_method_ends_when_cleared() -> None:
    fake = FakeRuntime()
    fake.faults.add("*", Fault(error="UNAVAILABLE"))
    client = fake.client()
    for call in (client.version, client.status, client.list_images):
        with pytest.raises(Unavailable):
            await call()
    fake.faults.clear()
    await client.status()


async def test_containers_end_on_order_of_the_test() -> None:
    now = 5_000_000_000
    fake = FakeRuntime(clock_ns=lambda: now)
    client, pod = fake.client(), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    made = await client.create_container(sandbox, container_config(pod), pod)
    await client.start_container(made)
    fake.finish(made, 137, "OOMKilled")
    ended = await client.container_status(made)
    assert (ended.state, ended.exit_code, ended.reason) == (CriContainerState.EXITED, 137, "OOMKilled")
    assert ended.finished_ns == 5_000_000_000


async def test_programs_take_the_time_they_are_given() -> None:
    slept: list[float] = []

    async def no_time(seconds: float) -> None:
        slept.append(seconds)

    fake = FakeRuntime(sleep=no_time)
    client, pod = fake.client(), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    made = await client.create_container(sandbox, container_config(pod, ["sleep", "3600"]), pod)
    await client.start_container(made)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert slept == [3600.0]
    assert (await client.container_status(made)).state is CriContainerState.EXITED


async def test_a_sandbox_that_is_lost_keeps_its_containers_but_takes_no_more() -> None:
    fake = FakeRuntime()
    client, pod = fake.client(), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    made = await client.create_container(sandbox, container_config(pod), pod)
    await client.start_container(made)
    fake.lose_sandbox(sandbox)
    assert not (await client.pod_sandbox_status(sandbox)).ready
    assert (await client.container_status(made)).state is CriContainerState.RUNNING
    with pytest.raises(CriError):
        await client.create_container(sandbox, container_config(pod, name="other"), pod)


async def test_images_are_pulled_from_its_registry() -> None:
    fake = FakeRuntime()
    fake.images.registry = {"docker.io/library/app:1": 10, "private.test/app:1": 20}
    fake.images.private = {"private.test/app:1": ("me", "secret")}
    client = fake.client()
    ref = await client.pull_image(cri.ImageSpec(image="app:1"))
    found = await client.image_status("app:1")
    assert found is not None
    assert (found.id, found.size_bytes) == (ref, 10)
    with pytest.raises(CriError, match="401"):
        await client.pull_image(cri.ImageSpec(image="private.test/app:1"), cri.AuthConfig(username="me"))
    await client.pull_image(cri.ImageSpec(image="private.test/app:1"), cri.AuthConfig(username="me", password="secret"))
    await client.remove_image("app:1")
    assert await client.image_status("app:1") is None
    with pytest.raises(CriError, match="not found"):
        await client.pull_image(cri.ImageSpec(image="nowhere:1"))


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("me/app:2", "docker.io/me/app:2"),
        ("localhost/app", "localhost/app:latest"),
        ("127.0.0.1:5000/app", "127.0.0.1:5000/app:latest"),
        ("quay.io/a/b@sha256:00", "quay.io/a/b@sha256:00"),
    ],
)
def test_image_names_are_completed(name: str, full: str) -> None:
    assert normalised(name) == full


def test_an_invalid_image_name_is_refused() -> None:
    with pytest.raises(RpcFailure, match="invalid reference format"):
        normalised("//x")


def test_scripts_are_read() -> None:
    program = program_of(["sh", "-c", "trap 'exit 0' TERM; echo a && echo b >&2; sleep 1.5; sleep 1; exit 4; echo no"])
    assert (program.seconds, program.exit_code, program.stdout, program.stderr) == (2.5, 4, "a\n", "b\n")
    assert program.heeds_term
    assert program_of(["sh", "-c", "while :; do :; done"]).seconds is None


async def test_the_fake_runtime_runs_from_the_command_line(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-m", "tests.support.fake_cri", str(socket)])
    client = CriClient(str(socket))
    try:
        async with asyncio.timeout(20):
            while True:
                try:
                    assert (await client.version()).name == "fake"
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
    finally:
        await client.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not socket.exists()
