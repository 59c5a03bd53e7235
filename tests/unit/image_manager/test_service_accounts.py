"""What a credential plug-in is told of a service account."""

from __future__ import annotations

import json

import pytest

from actors.api_clients.messages import ApiAnswer, ApiCall
from actors.image_manager.credential_plugins import Account, Identity
from actors.image_manager.plugin_process import PluginFailed
from actors.image_manager.service_accounts import identify
from actors.shared.config.sources.credential_providers import Provider, TokenAttributes

POD = Account("ns", "robot", "p", "u")


def provider(**more) -> Provider:
    return Provider(name="p", tokenAttributes=TokenAttributes(serviceAccountTokenAudience="aud", **more))


def server(calls: list[ApiCall], **answers: ApiAnswer):
    async def call(request: ApiCall) -> ApiAnswer:
        calls.append(request)
        if request.method in answers:
            return answers[request.method]
        if request.method == "GET":
            body = {"metadata": {"uid": "sa-uid", "annotations": {"a": "1", "b": "2", "c": "3"}}}
            return ApiAnswer(status=200, body=json.dumps(body).encode())
        return ApiAnswer(status=201, body=b'{"status": {"token": "tok"}}')

    return call


async def test_a_request_has_a_token_bound_to_the_pod_and_the_requested_annotations():
    calls: list[ApiCall] = []
    wanted = provider(
        requireServiceAccount=True,
        requiredServiceAccountAnnotationKeys=["a"],
        optionalServiceAccountAnnotationKeys=["b", "z"],
    )
    assert await identify(server(calls), wanted, POD) == Identity("sa-uid", "tok", {"a": "1", "b": "2"})
    assert [request.path for request in calls] == [
        "/api/v1/namespaces/ns/serviceaccounts/robot", "/api/v1/namespaces/ns/serviceaccounts/robot/token",
    ]  # fmt: skip
    spec = json.loads(calls[1].body)["spec"]
    assert spec["audiences"] == ["aud"]
    assert spec["boundObjectRef"] == {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


async def test_an_annotation_that_is_required_and_missing_is_an_error():
    wanted = provider(requireServiceAccount=True, requiredServiceAccountAnnotationKeys=["z"])
    with pytest.raises(PluginFailed, match="lacks the annotations z"):
        await identify(server([]), wanted, POD)


async def test_a_pod_without_an_account_is_an_error_only_where_one_is_required():
    calls: list[ApiCall] = []
    assert await identify(server(calls), provider(requireServiceAccount=False), Account("ns")) == Identity()
    with pytest.raises(PluginFailed, match="no service account"):
        await identify(server(calls), provider(requireServiceAccount=True), Account("ns"))
    assert calls == []


async def test_the_servers_refusal_is_reported():
    refused = ApiAnswer(status=403, reason="Forbidden", message="no")
    with pytest.raises(PluginFailed, match="Forbidden: no"):
        await identify(server([], POST=refused), provider(), POD)
    with pytest.raises(PluginFailed, match="gave no token"):
        await identify(server([], POST=ApiAnswer(status=201, body=b"{}")), provider(), POD)


async def test_an_account_that_the_server_does_not_connect_with_the_node_yet_is_asked_for_again():
    calls: list[ApiCall] = []
    known = server(calls)

    async def call(request: ApiCall) -> ApiAnswer:
        found = await known(request)
        return ApiAnswer(status=403, reason="Forbidden", message="no relationship found") if len(calls) == 1 else found

    assert (await identify(call, provider(), POD)).token == "tok"
    assert [request.method for request in calls] == ["GET", "GET", "POST"]
