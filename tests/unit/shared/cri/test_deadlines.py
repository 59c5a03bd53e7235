"""Each call has its deadline."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, ClassVar

import pytest

from actors.shared.cri import methods
from actors.shared.cri.client import CriClient
from actors.shared.cri.deadlines import Deadlines
from proto import cri_pb2 as cri

RESOURCES = cri.LinuxContainerResources()
Call = Callable[[CriClient], Awaitable[object]]


class Recorder:
    """A transport that answers everything with an empty message, but for the IDs that a client looks at."""

    ANSWERS: ClassVar[dict[str, Any]] = {
        "Version": cri.VersionResponse(version="0.1.0"),
        "RunPodSandbox": cri.RunPodSandboxResponse(pod_sandbox_id="x"),
        "PodSandboxStatus": cri.PodSandboxStatusResponse(status=cri.PodSandboxStatus(id="x")),
        "CreateContainer": cri.CreateContainerResponse(container_id="x"),
        "ContainerStatus": cri.ContainerStatusResponse(status=cri.ContainerStatus(id="x")),
    }

    def __init__(self) -> None:
        self.deadlines: dict[str, float | None] = {}

    async def call(self, method: Any, request: Any, timeout: float | None) -> Any:
        self.deadlines[method.name] = timeout
        return self.ANSWERS.get(method.name) or method.response()

    async def stream(self, method: Any, request: Any) -> AsyncIterator[Any]:
        self.deadlines[method.name] = None
        nothing: list[Any] = []
        for event in nothing:
            yield event

    async def close(self) -> None: ...


async def _drain(client: CriClient) -> None:
    async for _ in client.container_events():
        pass


CALLS: dict[str, tuple[Call, float | None]] = {
    "Version": (lambda c: c.version(), 120),
    "Status": (lambda c: c.status(), 120),
    "RuntimeConfig": (lambda c: c.cgroup_driver(), 120),
    "UpdateRuntimeConfig": (lambda c: c.update_runtime_config("10.0.0.0/24"), 120),
    "RunPodSandbox": (lambda c: c.run_pod_sandbox(cri.PodSandboxConfig()), 240),
    "StopPodSandbox": (lambda c: c.stop_pod_sandbox("x"), 120),
    "RemovePodSandbox": (lambda c: c.remove_pod_sandbox("x"), 120),
    "PodSandboxStatus": (lambda c: c.pod_sandbox_status("x"), 120),
    "ListPodSandbox": (lambda c: c.list_pod_sandboxes(), 120),
    "UpdatePodSandboxResources": (lambda c: c.update_pod_sandbox_resources("x", RESOURCES, RESOURCES), 120),
    "PortForward": (lambda c: c.port_forward_url("x", [80]), 120),
    "CreateContainer": (lambda c: c.create_container("x", cri.ContainerConfig(), cri.PodSandboxConfig()), 120),
    "StartContainer": (lambda c: c.start_container("x"), 120),
    "StopContainer": (lambda c: c.stop_container("x", 30), 150),
    "RemoveContainer": (lambda c: c.remove_container("x"), 120),
    "ContainerStatus": (lambda c: c.container_status("x"), 120),
    "ListContainers": (lambda c: c.list_containers(), 120),
    "UpdateContainerResources": (lambda c: c.update_container_resources("x", RESOURCES), 120),
    "ReopenContainerLog": (lambda c: c.reopen_container_log("x"), 120),
    "ExecSync": (lambda c: c.exec_sync("x", ["true"], 7), 127),
    "Exec": (lambda c: c.exec_url(cri.ExecRequest()), 120),
    "Attach": (lambda c: c.attach_url(cri.AttachRequest()), 120),
    "CheckpointContainer": (lambda c: c.checkpoint_container("x", "/y", 5), 125),
    "GetContainerEvents": (_drain, None),
    "ContainerStats": (lambda c: c.container_stats("x"), 120),
    "ListContainerStats": (lambda c: c.list_container_stats(), 120),
    "ListImages": (lambda c: c.list_images(), 120),
    "ImageStatus": (lambda c: c.image_status("x"), 120),
    "PullImage": (lambda c: c.pull_image(cri.ImageSpec(image="x")), None),
    "RemoveImage": (lambda c: c.remove_image("x"), 120),
    "ImageFsInfo": (lambda c: c.image_fs_info(), 120),
}


@pytest.mark.parametrize("method", CALLS)
async def test_a_call_has_the_deadline_of_its_kind(method: str) -> None:
    recorder = Recorder()
    call, seconds = CALLS[method]
    await call(CriClient.over(recorder, Deadlines(120)))
    assert recorder.deadlines == {method: seconds}


async def test_a_command_without_a_limit_has_no_deadline() -> None:
    recorder = Recorder()
    await CriClient.over(recorder).exec_sync("x", ["true"])
    assert recorder.deadlines == {"ExecSync": None}


def test_every_method_has_a_deadline_and_is_called_but_those_the_agent_has_no_use_for() -> None:
    declared = {value.name for value in vars(methods).values() if isinstance(value, methods.Method)}
    assert declared == set(CALLS)
    services = cri.DESCRIPTOR.services_by_name.values()
    left_out = {method.name for service in services for method in service.methods} - declared
    statistics = {"PodSandboxStats", "ListPodSandboxStats", "ListMetricDescriptors", "ListPodSandboxMetrics"}
    streams = {name for name in left_out if name.startswith("Stream")}
    assert left_out == streams | statistics | {"CheckpointPod", "RestorePod"}
