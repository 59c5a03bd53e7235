"""What CSI volumes need of the API server, and what is said when it is not there."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.volume_manager.csi.api_objects import ApiObjects
from actors.volume_manager.csi.errors import CsiError, ExhaustedError, NotAttachedError, PlainError
from actors.volume_manager.csi.model import SecretName
from supervision.actor import Actor
from supervision.testing.harness import Harness

NAME = SecretName("ns", "s")


class Nobody(Actor):
    pass


async def asked(answer: ApiAnswer, call: Any) -> Any:
    harness = Harness(Nobody, name="volume_manager", context=None)
    harness.answer(ApiCall, lambda _: answer)
    async with harness:
        return await call(ApiObjects(harness.actor))


async def test_a_missing_secret_is_named_with_the_field_that_refers_to_it() -> None:
    gone = ApiAnswer(status=404, reason="NotFound", message='secrets "s" not found')
    with pytest.raises(PlainError) as caught:
        await asked(gone, lambda api: api.secret(NAME, "NodeStageSecretRef"))
    why = 'kubernetes.io/csi: failed to find the secret s in the namespace ns with error: secrets "s" not found'
    assert str(caught.value) == f"fetching NodeStageSecretRef ns/s failed: {why}"


async def test_a_secret_that_is_no_text_is_an_error() -> None:
    body = json.dumps({"data": {"k": base64.b64encode(b"\xff").decode()}}).encode()
    with pytest.raises(PlainError, match="fetching NodePublishSecretRef ns/s failed"):
        await asked(ApiAnswer(status=200, body=body), lambda api: api.secret(NAME, "NodePublishSecretRef"))


@pytest.mark.parametrize(
    "answer",
    [
        ApiAnswer(status=404, reason="NotFound"),
        ApiAnswer(status=403, reason="Forbidden"),
        ApiAnswer(status=200, body=b'{"status": {"attached": false}}'),
    ],
)
async def test_a_volume_without_a_valid_attachment_waits(answer: ApiAnswer) -> None:
    with pytest.raises(NotAttachedError, match="volume h is not attached yet"):
        await asked(answer, lambda api: api.attached("csi-1", "volume h"))


async def test_a_volume_is_used_while_it_is_attached_and_not_being_detached() -> None:
    attached: dict[str, Any] = {"status": {"attached": True, "attachmentMetadata": {"device": "/dev/x"}}}
    whole = ApiAnswer(status=200, body=json.dumps(attached).encode())
    assert await asked(whole, lambda api: api.attached("csi-1", "volume h")) == {"device": "/dev/x"}
    attached["metadata"] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    ending = ApiAnswer(status=200, body=json.dumps(attached).encode())
    with pytest.raises(NotAttachedError, match="volume h is being detached from this node"):
        await asked(ending, lambda api: api.attached("csi-1", "volume h"))


@pytest.mark.parametrize(("code", "kind"), [(8, ExhaustedError), (13, NotAttachedError), (None, NotAttachedError)])
async def test_a_full_node_is_recognised_by_the_error_code(code: int | None, kind: type[Exception]) -> None:
    error: dict[str, Any] = {"message": "no", **({"errorCode": code} if code is not None else {})}
    body = json.dumps({"status": {"attached": False, "attachError": error}}).encode()
    with pytest.raises(NotAttachedError, match="volume h is not attached yet: no") as caught:
        await asked(ApiAnswer(status=200, body=body), lambda api: api.attached("csi-1", "volume h"))
    assert type(caught.value) is kind


async def test_a_volume_is_in_use_once_it_is_in_the_nodes_status() -> None:
    async def check(status: dict[str, Any]) -> None:
        answer = ApiAnswer(status=200, body=json.dumps({"status": status}).encode())
        await asked(answer, lambda api: api.check_in_use("n1", "kubernetes.io/csi/d^h"))

    await check({"volumesInUse": ["kubernetes.io/csi/d^h"]})
    for status in ({}, {"volumesInUse": None}, {"volumesInUse": ["kubernetes.io/csi/d^other"]}):
        with pytest.raises(NotAttachedError, match="has not been added to the list of VolumesInUse"):
            await check(status)
    away = ApiAnswer(status=0, reason="Unreachable", message="connection refused")
    with pytest.raises(CsiError, match="node n1: Unreachable"):
        await asked(away, lambda api: api.check_in_use("n1", "x"))
