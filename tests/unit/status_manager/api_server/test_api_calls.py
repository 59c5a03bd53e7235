"""Answers of the API server that cannot be taken."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from actors.api_clients.kube_client.messages import ApiAnswer
from actors.shared.kube.pod import PodStatus
from actors.status_manager.api_server.api_calls import UNREADABLE, ApiCalls
from actors.status_manager.api_server.steps import PatchStatus, next_step
from actors.status_manager.messages import PodObserved
from actors.status_manager.pods.api_pods import read
from actors.status_manager.pods.pod_table import PodTable
from actors.status_manager.pods.tracked_pod import tracked

META = {"uid": "u", "name": "p", "namespace": "n", "resourceVersion": "1"}


def calls(body: bytes) -> tuple[ApiCalls, PodTable]:
    """With a pod that runs and is Pending at the API server, which answers with this body."""
    table = PodTable()
    table.api.replace([read(json.dumps({"metadata": META, "status": {"phase": "Pending"}}).encode())])
    data = json.dumps({"metadata": META, "spec": {"containers": [{"name": "a"}]}}).encode()
    pod = tracked(PodObserved("u", data, worker_phase="running"), 1.0)
    table.put(msgspec.structs.replace(pod, status=PodStatus(phase="Running"), has_base=True))

    async def ask(*_: Any, **__: Any) -> ApiAnswer:
        return ApiAnswer(status=200, body=body)

    metrics = SimpleNamespace(count=lambda *_, **__: None)
    actor: Any = SimpleNamespace(ask=ask, metrics=metrics, log=logging.getLogger("status_manager"))
    return ApiCalls(actor, table, "node", lambda uid: None), table


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"metadata": 5}'])
async def test_an_answer_that_cannot_be_read_is_a_failure_and_the_status_is_written_again(body: bytes) -> None:
    asked, table = calls(body)
    step = next_step(table, "u")
    assert isinstance(step, PatchStatus)
    failure = await asked.perform(step)
    assert failure is not None
    assert (failure.status, failure.reason) == (UNREADABLE, "Unreadable")
    assert failure.message.startswith("the answer cannot be read: ")
    assert next_step(table, "u") == step


async def test_an_answer_that_is_no_pod_changes_nothing() -> None:
    asked, table = calls(b'{"metadata": {"resourceVersion": "9"}}')
    step = next_step(table, "u")
    assert isinstance(step, PatchStatus)
    assert await asked.perform(step) is None
    assert next_step(table, "u") == step


async def test_a_status_that_was_written_is_not_written_again() -> None:
    written = {"metadata": {**META, "resourceVersion": "2"}, "status": {"phase": "Running"}}
    asked, table = calls(json.dumps(written).encode())
    step = next_step(table, "u")
    assert isinstance(step, PatchStatus)
    assert await asked.perform(step) is None
    assert next_step(table, "u") is None
