"""What every runtime must do for the client: run by the fake in both its forms, and by a real containerd.

A test class inherits RuntimeContract and gives the fixture `site`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, DeadlineExceeded, NameReserved, NotFound, StillStarting, Unimplemented
from actors.shared.cri.model import ContainerEvent, CriContainer, CriContainerState, EventKind
from proto import cri_pb2 as cri
from tests.support.cri_configs import BUSYBOX, container_config, sandbox_config

SOON = 10.0


@dataclass(frozen=True)
class Site:
    """Where the contract is tried: a way to a client, and where pods may have their cgroups and logs."""

    connect: Callable[[], AbstractAsyncContextManager[CriClient]]
    logs: Path
    leave_task: Callable[[str], None]
    """Make the task of a container that was not started behind the back of CRI."""
    cgroup_root: str = ""
    events: bool = True


@dataclass(frozen=True)
class Pod:
    client: CriClient
    config: cri.PodSandboxConfig
    id: str

    async def create(self, *command: str, name: str = "main", attempt: int = 0) -> str:
        config = container_config(self.config, command, name, attempt) if command else self.default(name, attempt)
        return await self.client.create_container(self.id, config, self.config)

    def default(self, name: str = "main", attempt: int = 0) -> cri.ContainerConfig:
        return container_config(self.config, name=name, attempt=attempt)

    async def start(self, *command: str, name: str = "main", attempt: int = 0) -> str:
        made = await self.create(*command, name=name, attempt=attempt)
        await self.client.start_container(made)
        return made


@asynccontextmanager
async def a_pod(site: Site) -> AsyncIterator[Pod]:
    """A ready sandbox, removed at the end."""
    async with site.connect() as client:
        config = sandbox_config(site.cgroup_root, site.logs)
        sandbox = await client.run_pod_sandbox(config)
        try:
            yield Pod(client, config, sandbox)
        finally:
            await client.stop_pod_sandbox(sandbox)
            await client.remove_pod_sandbox(sandbox)


@contextmanager
def read(pipe: str) -> Iterator[None]:
    """Have a reader of the pipe, so that it can be opened for writing."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(reader)


async def until_exited(client: CriClient, container_id: str) -> CriContainer:
    async with asyncio.timeout(SOON):
        while True:
            container = await client.container_status(container_id)
            if container.state is CriContainerState.EXITED:
                return container
            await asyncio.sleep(0.02)


class RuntimeContract:
    async def test_the_handshake_names_the_runtime(self, site: Site) -> None:
        async with site.connect() as client:
            version = await client.version()
            assert version.name
            assert version.api_version == "v1"

    async def test_a_running_runtime_reports_ready(self, site: Site) -> None:
        async with site.connect() as client:
            status = await client.status()
            assert (status.runtime_ready, status.network_ready, status.message) == (True, True, "")

    async def test_the_cgroup_driver_is_reported_or_none(self, site: Site) -> None:
        async with site.connect() as client:
            assert await client.cgroup_driver() in (None, "cgroupfs", "systemd")

    async def test_a_sandbox_is_created_and_removed(self, site: Site) -> None:
        async with site.connect() as client:
            config = sandbox_config(site.cgroup_root, site.logs)
            made = await client.run_pod_sandbox(config)
            status = await client.pod_sandbox_status(made)
            assert (status.pod_uid, status.pod_name, status.attempt) == (config.metadata.uid, config.metadata.name, 0)
            assert (status.ready, len(status.ips), status.host_network) == (True, 1, False)
            listed = await client.list_pod_sandboxes({"io.kubernetes.pod.uid": config.metadata.uid})
            assert listed == [msgspec.structs.replace(status, ips=[])]  # a list has no addresses
            await client.stop_pod_sandbox(made)
            await client.stop_pod_sandbox(made)
            assert not (await client.pod_sandbox_status(made)).ready
            await client.remove_pod_sandbox(made)
            await client.remove_pod_sandbox(made)
            with pytest.raises(NotFound):
                await client.pod_sandbox_status(made)

    async def test_a_container_is_created_and_removed(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.create()
            created = await pod.client.container_status(made, pod.id)
            assert (created.state, created.name, created.pod_uid) == ("created", "main", pod.config.metadata.uid)
            assert created.sandbox_id == pod.id
            assert created.created_ns > 0
            await pod.client.start_container(made)
            running = await pod.client.container_status(made)
            assert running.state is CriContainerState.RUNNING
            assert running.started_ns >= created.created_ns
            assert running.log_path == f"{pod.config.log_directory}/main-0.log"
            assert running.restart_count == 0
            await pod.client.stop_container(made, 5)
            stopped = await until_exited(pod.client, made)
            assert stopped.finished_ns > running.started_ns
            assert stopped.exit_code in (0, 137, 143)  # 137: it had not set its trap yet, and was killed
            await pod.client.remove_container(made)
            with pytest.raises(NotFound):
                await pod.client.container_status(made)

    async def test_list_and_status_agree(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            status = await pod.client.container_status(made, pod.id)
            for listed in (
                await pod.client.list_containers({"io.kubernetes.pod.uid": pod.config.metadata.uid}),
                await pod.client.list_containers(sandbox_id=pod.id),
            ):
                assert [one.id for one in listed] == [made]
                assert (listed[0].state, listed[0].labels) == (status.state, status.labels)
                assert (listed[0].annotations, listed[0].image_ref) == (status.annotations, status.image_ref)
                assert (listed[0].created_ns, listed[0].sandbox_id) == (status.created_ns, pod.id)

    async def test_an_exit_code_is_reported(self, site: Site) -> None:
        async with a_pod(site) as pod:
            ended = await until_exited(pod.client, await pod.start("sh", "-c", "exit 3"))
            assert (ended.exit_code, ended.reason) == (3, "Error")
            again = await until_exited(pod.client, await pod.start("true", attempt=1))
            assert (again.exit_code, again.reason, again.attempt) == (0, "Completed", 1)

    async def test_a_program_that_ignores_sigterm_is_killed_after_its_grace(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start("sleep", "600")
            await pod.client.stop_container(made, 1)
            assert (await until_exited(pod.client, made)).exit_code == 137

    async def test_a_missing_program_fails_the_start_and_ends_the_container(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.create("/missing/program")
            with pytest.raises(CriError, match=r"/missing/program"):
                await pod.client.start_container(made)
            ended = await until_exited(pod.client, made)
            assert (ended.exit_code, ended.reason) == (128, "StartError")

    async def test_a_container_starts_once(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start("true")
            await until_exited(pod.client, made)
            with pytest.raises(CriError, match="CONTAINER_EXITED"):
                await pod.client.start_container(made)

    async def test_a_second_create_of_the_same_attempt_adopts_the_first(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.create()
            assert await pod.create() == made
            assert await pod.client.run_pod_sandbox(pod.config) == pod.id

    async def test_a_container_that_was_started_is_not_adopted(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            with pytest.raises(NameReserved) as caught:
                await pod.create()
            assert caught.value.id == made

    async def test_stopping_and_removing_a_missing_container_succeeds(self, site: Site) -> None:
        async with site.connect() as client:
            unknown = "0" * 64
            await client.stop_container(unknown, 1)
            await client.remove_container(unknown)
            await client.stop_pod_sandbox(unknown)
            await client.remove_pod_sandbox(unknown)
            await client.remove_image("localhost/unknown:1")
            with pytest.raises(NotFound):
                await client.container_status(unknown)

    @pytest.mark.parametrize("with_its_sandbox", [False, True])
    async def test_a_lost_task_does_not_prevent_a_removal(self, site: Site, with_its_sandbox: bool) -> None:
        async with a_pod(site) as pod:
            made = await pod.create("sleep", "1000")
            site.leave_task(made)
            assert (await pod.client.container_status(made)).state is CriContainerState.CREATED
            if with_its_sandbox:
                await pod.client.stop_pod_sandbox(pod.id)
                await pod.client.remove_pod_sandbox(pod.id)
            else:
                await pod.client.remove_container(made)
            assert await pod.client.list_containers(sandbox_id=pod.id) == []

    async def test_an_abandoned_start_delays_the_sandboxs_removal_until_it_ends(self, site: Site) -> None:
        async with a_pod(site) as pod:
            _, log = await self._start_that_hangs(pod)
            await pod.client.stop_pod_sandbox(pod.id)
            removal = asyncio.ensure_future(pod.client.remove_pod_sandbox(pod.id))
            assert not (await asyncio.wait([removal], timeout=0.3))[0]
            with read(log):
                await removal
            assert await pod.client.list_containers(sandbox_id=pod.id) == []

    async def test_a_start_that_never_ends_is_reported_by_every_call_that_it_keeps_from_working(
        self, site: Site
    ) -> None:
        async with a_pod(site) as pod:
            made, log = await self._start_that_hangs(pod)
            for call in (pod.client.start_container, pod.client.remove_container):
                with pytest.raises(StillStarting) as caught:
                    await call(made)
                assert caught.value.id == made
            with read(log):
                await pod.client.stop_pod_sandbox(pod.id)
                await pod.client.remove_pod_sandbox(pod.id)

    @staticmethod
    async def _start_that_hangs(pod: Pod) -> tuple[str, str]:
        """Give up a start that hangs while its log, a pipe without a reader, is opened. The container and its log."""
        made = await pod.create("sleep", "1000")
        log = (await pod.client.container_status(made)).log_path
        os.mkfifo(log)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pod.client.start_container(made), 0.3)
        return made, log

    async def test_commands_run_in_a_container(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            result = await pod.client.exec_sync(made, ["sh", "-c", "echo out; echo err >&2; exit 7"], 10)
            assert (result.exit_code, result.stdout, result.stderr) == (7, b"out\n", b"err\n")
            with pytest.raises(DeadlineExceeded):
                await pod.client.exec_sync(made, ["sleep", "30"], 1)
            with pytest.raises(CriError, match="missing"):
                await pod.client.exec_sync(made, ["/missing/program"], 5)

    async def test_streams_are_given_as_urls(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            exec_url = await pod.client.exec_url(cri.ExecRequest(container_id=made, cmd=["sh"], stdout=True))
            attach_url = await pod.client.attach_url(cri.AttachRequest(container_id=made, stdout=True))
            forward_url = await pod.client.port_forward_url(pod.id)
            assert all(url.startswith("http://127.0.0.1:") for url in (exec_url, attach_url, forward_url))

    async def test_output_is_in_the_log_when_the_container_has_ended(self, site: Site) -> None:
        async with a_pod(site) as pod:
            ended = await until_exited(pod.client, await pod.start("sh", "-c", "echo hello; echo oops >&2"))
            lines = Path(ended.log_path).read_text().splitlines()
            assert sorted(line.split(" ", 1)[1] for line in lines) == ["stderr F oops", "stdout F hello"]

    async def test_a_log_that_was_renamed_is_reopened(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            path = Path((await pod.client.container_status(made)).log_path)
            path.touch()
            path.rename(path.with_suffix(".1"))
            await pod.client.reopen_container_log(made)
            assert path.exists()

    async def test_a_missing_image_is_not_found(self, site: Site) -> None:
        async with a_pod(site) as pod:
            config = pod.default()
            config.image.image = "localhost/unknown:1"
            with pytest.raises(NotFound):
                await pod.client.create_container(pod.id, config, pod.config)
            assert await pod.client.image_status("localhost/unknown:1") is None

    async def test_images_are_listed_and_looked_up_by_name_and_id(self, site: Site) -> None:
        async with site.connect() as client:
            found = await client.image_status("busybox")
            assert found is not None
            assert BUSYBOX in found.tags
            assert found.size_bytes > 0
            assert found.id in [image.id for image in await client.list_images()]
            assert await client.image_status(found.id) == found
            usage = await client.image_fs_info()
            assert usage.images[0].mountpoint.startswith("/")

    async def test_limits_are_changed_in_place(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            await pod.client.update_container_resources(made, cri.LinuxContainerResources(cpu_quota=70_000))
            resources = (await pod.client.container_status(made)).resources
            assert resources is not None
            assert (resources.cpu_quota, resources.cpu_shares) == (70_000, 512)

    async def test_usage_is_measured(self, site: Site) -> None:
        async with a_pod(site) as pod:
            made = await pod.start()
            stats = await pod.client.container_stats(made)
            assert (stats.id, stats.name, stats.pod_uid) == (made, "main", pod.config.metadata.uid)
            assert stats.cpu is not None
            assert stats.memory is not None
            assert stats.memory.working_set_bytes
            by_id = {one.id: one for one in await pod.client.list_container_stats(sandbox_id=pod.id)}
            assert set(by_id) == {made}

    async def test_events_report_a_container_or_are_not_implemented(self, site: Site) -> None:
        async with a_pod(site) as pod:
            events = pod.client.container_events()
            if not site.events:
                with pytest.raises(Unimplemented):
                    await anext(events)
                return
            seen: list[ContainerEvent] = []
            reader = asyncio.ensure_future(_collect(events, seen))
            made = await pod.start("true")
            await until_exited(pod.client, made)
            async with asyncio.timeout(SOON):
                while [one.kind for one in seen if one.container_id == made] != [
                    EventKind.CREATED,
                    EventKind.STARTED,
                    EventKind.STOPPED,
                ]:
                    await asyncio.sleep(0.02)
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            last = [one for one in seen if one.container_id == made][-1]
            assert last.pod_uid == pod.config.metadata.uid


async def _collect(events: AsyncIterator[ContainerEvent], into: list[ContainerEvent]) -> None:
    async for event in events:
        into.append(event)  # noqa: PERF401 - seen by the test while it runs
