"""Calls to the runtime are counted by the kubelet's names."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.cri import methods
from actors.shared.cri.errors import CriError
from actors.shared.cri.measured_transport import MeasuredTransport, operation_type
from actors.shared.metrics import catalogue
from proto import cri_pb2 as cri
from supervision.metrics import Metrics


class Inner:
    """Answers Version, and refuses everything else."""

    async def call(self, method: Any, request: Any, timeout: float | None) -> Any:
        if method is not methods.VERSION:
            raise CriError(method.name, "INTERNAL", "broken")
        return cri.VersionResponse()


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("Version", "version"),
        ("RunPodSandbox", "run_podsandbox"),
        ("PodSandboxStatus", "podsandbox_status"),
        ("ListContainers", "list_containers"),
        ("UpdateContainerResources", "update_container"),
        ("ImageFsInfo", "image_fs_info"),
        ("ExecSync", "exec_sync"),
    ],
)
def test_operations_have_the_kubelets_names(method, name):
    assert operation_type(method) == name


async def test_each_call_is_counted_and_timed_and_a_failed_one_is_an_error():
    metrics = Metrics(catalogue(strict=True))
    transport = MeasuredTransport(Inner(), metrics)  # type: ignore[arg-type]
    await transport.call(methods.VERSION, cri.VersionRequest(), 1.0)
    with pytest.raises(CriError):
        await transport.call(methods.STATUS, cri.StatusRequest(), 1.0)
    found = {(one.name, one.labels["operation_type"]): one for one in metrics.snapshot("a", 1).samples}
    assert found["kubelet_runtime_operations_total", "version"].value == 1
    assert found["kubelet_runtime_operations_total", "status"].value == 1
    assert found["kubelet_runtime_operations_errors_total", "status"].value == 1
    assert ("kubelet_runtime_operations_errors_total", "version") not in found
    assert sum(found["kubelet_runtime_operations_duration_seconds", "status"].counts) == 1
