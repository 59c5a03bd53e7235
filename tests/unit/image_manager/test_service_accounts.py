"""What a credential plug-in is told of a service account."""

from __future__ import annotations

import json

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.image_manager.credential_plugins import Account, Identity
from actors.image_manager.plugin_process import PluginFailed
from actors.image_manager.service_accounts import Identities
from actors.shared.config.sources.credential_providers import Provider, TokenAttributes

POD = Account("ns", "robot", "p", "u")


def provider(**more) -> Provider:
    return Provider(name="p", tokenAttributes=TokenAttributes(serviceAccountTokenAudience="aud", **more))


async def identify(call, wanted: Provider, account: Account) -> Identity | None:
    return await Identities(call).identify(wanted, account)


def token(text: str = "tok", expires: str = "2030-01-01T01:00:00Z") -> bytes:
    return json.dumps({"status": {"token": text, "expirationTimestamp": expires}}).encode()


def server(calls: list[ApiCall], **answers: ApiAnswer):
    async def call(request: ApiCall) -> ApiAnswer:
        calls.append(request)
        if request.method in answers:
            return answers[request.method]
        if request.method == "GET":
            body = {"metadata": {"uid": "sa-uid", "annotations": {"a": "1", "b": "2", "c": "3"}}}
            return ApiAnswer(status=200, body=json.dumps(body).encode())
        return ApiAnswer(status=201, body=token())

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
    request = json.loads(calls[1].body)
    assert request["metadata"] == {"uid": "sa-uid"}, "no token of a later account with this name"
    spec = request["spec"]
    assert "expirationSeconds" not in spec
    assert spec["audiences"] == ["aud"]
    assert spec["boundObjectRef"] == {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


async def test_a_plugin_is_not_for_a_pod_whose_account_lacks_a_required_annotation():
    calls: list[ApiCall] = []
    wanted = provider(requireServiceAccount=True, requiredServiceAccountAnnotationKeys=["z"])
    assert await identify(server(calls), wanted, POD) is None
    assert [request.method for request in calls] == ["GET"]


async def test_a_plugin_is_not_for_a_pod_without_an_account_where_one_is_required():
    calls: list[ApiCall] = []
    assert await identify(server(calls), provider(requireServiceAccount=False), Account("ns")) == Identity()
    assert await identify(server(calls), provider(requireServiceAccount=True), Account("ns")) is None
    assert calls == []


async def test_a_token_serves_its_pod_until_a_fifth_of_its_lifetime_is_left():
    now, calls, begin = [0.0], list[ApiCall](), 1893456000.0  # 2030-01-01T00:00:00Z
    answers = {"POST": ApiAnswer(status=201, body=token())}
    identities = Identities(server(calls, **answers), lambda: begin + now[0])

    async def asked(account: Account = POD) -> int:
        found = await identities.identify(provider(), account)
        assert found is not None
        assert found.token == "tok"
        return [request.method for request in calls].count("POST")

    assert (await asked(), await asked()) == (1, 1)
    assert await asked(Account("ns", "robot", "q", "v")) == 2, "another pod"
    now[0] = 2800.0
    assert await asked() == 2
    now[0] = 2900.0
    assert await asked() == 3


async def test_the_cached_token_serves_until_it_expires_while_no_new_one_can_be_had():
    now, begin, refused = [0.0], 1893456000.0, ApiAnswer(status=500, reason="InternalError", message="no")
    given = server([])
    away = [False]

    async def call(request: ApiCall) -> ApiAnswer:
        return refused if away[0] and request.method == "POST" else await given(request)

    identities = Identities(call, lambda: begin + now[0])
    await identities.identify(provider(), POD)
    away[0], now[0] = True, 3500.0
    found = await identities.identify(provider(), POD)
    assert found is not None
    assert found.token == "tok"
    now[0] = 3601.0
    with pytest.raises(PluginFailed, match="InternalError: no"):
        await identities.identify(provider(), POD)


async def test_the_servers_refusal_is_reported():
    refused = ApiAnswer(status=403, reason="Forbidden", message="no")
    with pytest.raises(PluginFailed, match="Forbidden: no"):
        await identify(server([], POST=refused), provider(), POD)
    with pytest.raises(PluginFailed, match="gave no token"):
        await identify(server([], POST=ApiAnswer(status=201, body=b"{}")), provider(), POD)


async def test_an_account_not_yet_connected_with_the_node_is_requested_again():
    calls: list[ApiCall] = []
    known = server(calls)

    async def call(request: ApiCall) -> ApiAnswer:
        found = await known(request)
        return ApiAnswer(status=403, reason="Forbidden", message="no relationship found") if len(calls) == 1 else found

    found = await identify(call, provider(), POD)
    assert found is not None
    assert found.token == "tok"
    assert [request.method for request in calls] == ["GET", "GET", "POST"]
