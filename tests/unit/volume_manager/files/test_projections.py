"""Files of secrets, config maps, projected volumes; tokens and their age."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import msgspec
import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall, ObjectRef, ObjectState
from actors.shared.kube.codec import decode, decode_pod, encode
from actors.shared.kube.credential_sources import ClusterTrustBundleProjection
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import VolumeProjection
from actors.volume_manager.files.content_error import ContentError
from actors.volume_manager.files.downward_fields import File
from actors.volume_manager.files.projections import Content, PodTokenRequest, bundles_of, files, only_user, tokens_of
from actors.volume_manager.files.service_tokens import ServiceTokens
from actors.volume_manager.files.trust_anchors import BundleQuery
from actors.volume_manager.types.api_files import ApiFiles
from actors.volume_manager.types.base import PodContext, RejectedVolume
from actors.volume_manager.types.registry import plan
from tests.support.volumes import user_of

SECRET = ObjectRef("Secret", "s", "ns")
CONFIG = ObjectRef("ConfigMap", "c", "ns")
CONTENT = Content(
    {
        SECRET: ObjectState(
            SECRET, json.dumps({"data": {"b": base64.b64encode(b"\xff\0").decode(), "a": "eA=="}}).encode()
        ),
        CONFIG: ObjectState(CONFIG, b'{"data":{"k":"v"},"binaryData":{"bin":"AAE="}}'),
    }
)


def pod(*volumes: dict[str, Any], **spec: Any) -> Pod:
    meta = {"name": "p", "namespace": "ns", "uid": "u", "labels": {"app": "web"}}
    return decode_pod(
        json.dumps(
            {"metadata": meta, "spec": {"volumes": list(volumes), "ephemeralContainers": [user_of(volumes)], **spec}}
        ).encode()
    )


def made(volume: dict[str, Any], given: Content = CONTENT, **spec: Any) -> list[File]:
    of = pod({"name": "v", **volume}, **spec)
    (step,) = plan(PodContext(pod=of, pod_dir="/pods/u", plugins_dir="/plugins", node_memory=1 << 30), joined=True)
    assert isinstance(step, ApiFiles)
    return files(of, step.sources, step.mode, given)


def test_a_secret_has_a_file_for_each_key_whatever_its_bytes() -> None:
    assert made({"secret": {"secretName": "s"}}) == [File("a", b"x", 0o644), File("b", b"\xff\0", 0o644)]


def test_a_value_that_go_writes_as_null_is_an_empty_file() -> None:
    given = Content(
        {SECRET: ObjectState(SECRET, b'{"data":{"a":null}}'), CONFIG: ObjectState(CONFIG, b'{"data":null}')}
    )
    assert made({"secret": {"secretName": "s"}}, given) == [File("a", b"", 0o644)]
    assert made({"configMap": {"name": "c"}}, given) == []


def test_a_config_map_has_its_texts_and_its_binary_data() -> None:
    assert made({"configMap": {"name": "c", "defaultMode": 0o400}}) == [
        File("bin", b"\0\1", 0o400),
        File("k", b"v", 0o400),
    ]


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "k", "path": "deep/er", "mode": 0o600}]
    assert made({"configMap": {"name": "c", "items": items}}) == [File("deep/er", b"v", 0o600)]


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        (
            {"secret": {"secretName": "s", "items": [{"key": "no", "path": "x"}]}},
            "references non-existent secret key: no",
        ),
        (
            {"configMap": {"name": "c", "items": [{"key": "no", "path": "x"}]}},
            "configmap references non-existent config key: no",
        ),
    ],
)
def test_a_missing_key_is_reported_unless_it_is_optional(volume: dict[str, Any], text: str) -> None:
    with pytest.raises(ContentError, match=text):
        made(volume)
    (kind,) = volume
    assert made({kind: {**volume[kind], "optional": True}}) == []


@pytest.mark.parametrize(
    ("reason", "optional", "text"),
    [
        ("NotFound", False, 'secret "s" not found'),
        ("Forbidden", False, 'secret "ns/s" cannot be read: Forbidden: no'),
        ("Unreachable", True, 'secret "ns/s" cannot be read: Unreachable: no'),
    ],
)
def test_an_object_that_cannot_be_had_is_reported(reason: str, optional: bool, text: str) -> None:
    with pytest.raises(ContentError, match=text):
        made(
            {"secret": {"secretName": "s", "optional": optional}},
            Content({SECRET: ObjectState(SECRET, reason=reason, message="no")}),
        )


def test_a_projected_volume_reports_each_wrong_source() -> None:
    given = Content({SECRET: ObjectState(SECRET, reason="NotFound"), CONFIG: ObjectState(CONFIG, reason="NotFound")})
    sources = [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}, {"secret": {"name": "s"}}]
    with pytest.raises(ContentError) as error:
        made({"projected": {"sources": sources}}, given)
    assert str(error.value) == '[configmap "c" not found, secret "s" not found]'
    with pytest.raises(ContentError) as error:
        made({"projected": {"sources": sources[:1]}}, given)
    assert str(error.value) == 'configmap "c" not found'


def test_a_missing_optional_object_gives_an_empty_volume() -> None:
    given = Content({SECRET: ObjectState(SECRET, reason="NotFound")})
    assert made({"secret": {"secretName": "s", "optional": True}}, given) == []


@pytest.mark.parametrize("kind", ["secret", "configMap"])
def test_a_source_without_a_name_is_an_error_of_the_volume(kind: str) -> None:
    with pytest.raises(ContentError, match=f"a source of the kind {kind.lower()} has no name"):
        made({"projected": {"sources": [{kind: {"name": "", "optional": True}}]}})


@pytest.mark.parametrize("body", [b"{", b'{"data":{"k":1}}', b'{"data":{"k":"not base64!"}}'])
def test_an_invalid_object_is_an_error_of_the_volume(body: bytes) -> None:
    with pytest.raises(ContentError, match="cannot be read"):
        made({"secret": {"secretName": "s"}}, Content({SECRET: ObjectState(SECRET, body)}))


def test_a_projected_volume_joins_all_its_sources_and_the_later_of_two_counts() -> None:
    wanted = PodTokenRequest("ns", "robot", "vault", 7200, "p", "u")
    sources = [
        {"secret": {"name": "s", "items": [{"key": "a", "path": "same"}]}},
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "same"}]}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 7200}},
    ]
    volume = {"projected": {"sources": sources, "defaultMode": 0o440}}
    given = Content(CONTENT.objects, {wanted: "secret token"}, {})
    assert made(volume, given, serviceAccountName="robot") == [
        File("same", b"v", 0o440),
        File("labels", b'app="web"', 0o440),
        File("token", b"secret token", 0o440),
    ]


def test_a_token_is_the_users_or_the_groups_alone_where_there_is_one() -> None:
    wanted = PodTokenRequest("ns", "default", "", 3600, "p", "u")
    volume = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    given = Content({}, {wanted: "t"})
    containers = [{"name": "a", "securityContext": {"runAsUser": 7}}, {"name": "b"}]
    assert made(volume, given, containers=containers) == [File("token", b"t", 0o644)]
    shared = {"containers": containers[1:], "securityContext": {"runAsUser": 9}}
    assert made(volume, given, **shared) == [File("token", b"t", 0o600, 9)]
    assert made(volume, given, securityContext={"fsGroup": 5}) == [File("token", b"t", 0o600)]
    assert only_user(pod(containers=containers)) is None


@pytest.mark.parametrize(("security", "user"), [({"runAsUser": 7}, 7), ({"runAsUser": 8}, None), ({}, None)])
def test_an_ephemeral_container_of_another_user_reads_tokens_too(security: dict[str, int], user: int | None) -> None:
    containers = [{"name": "a", "securityContext": {"runAsUser": 7}}]
    debug = [{"name": "debug", "image": "i", "securityContext": security}]
    assert only_user(pod(containers=containers, ephemeralContainers=debug)) == user


def test_no_token_is_requested_for_less_than_ten_minutes() -> None:
    volume = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 5}}]}}
    of = pod(volume)
    assert of.spec.volumes[0].projected is not None
    assert [wanted.seconds for wanted in tokens_of(of, of.spec.volumes[0].projected.sources)] == [600]


def test_secrets_are_kept_in_memory_and_config_maps_on_disk() -> None:
    volumes = [{"name": "s", "secret": {"secretName": "s"}}, {"name": "c", "configMap": {"name": "c"}}]
    context = PodContext(pod=pod(*volumes), pod_dir="/pods/u", plugins_dir="/plugins", node_memory=4096)
    found = plan(context, joined=True)
    assert [step.size for step in found if isinstance(step, ApiFiles)] == [4096, None]
    assert all(isinstance(step, RejectedVolume) for step in plan(context))


class Server:
    """Answers TokenRequest."""

    def __init__(self) -> None:
        self.now, self.calls, self.down = 1_000_000.0, [], False  # type: tuple[float, list[ApiCall], bool]
        self.forbidden, self.unknown = 0, 0
        """So many requests are refused; so many, afterwards, are for a pod that the server does not know yet."""
        self.tokens = ServiceTokens(self.call, lambda: self.now, lambda: 0.0, self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def call(self, call: ApiCall) -> ApiAnswer:
        self.calls.append(call)
        if self.forbidden:
            self.forbidden -= 1
            return ApiAnswer(status=403, reason="Forbidden", message="bound to a pod scheduled on a different node")
        if self.unknown:
            self.unknown -= 1
            return ApiAnswer(status=404, reason="NotFound", message='pod "p" not found')
        if self.down:
            return ApiAnswer(status=0, reason="Unreachable", message="away")
        seconds = json.loads(call.body)["spec"]["expirationSeconds"]
        ends = datetime.datetime.fromtimestamp(self.now + seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {"status": {"token": f"token {len(self.calls)}", "expirationTimestamp": ends}}
        return ApiAnswer(status=201, body=msgspec.json.encode(body))


WANTED = PodTokenRequest("ns", "robot", "vault", 1000, "p", "u")


async def test_a_token_is_kept_until_a_fifth_of_its_life_is_left() -> None:
    server = Server()
    assert await server.tokens.get(WANTED) == "token 1"
    server.now += 799
    assert not server.tokens.due(WANTED)
    assert await server.tokens.get(WANTED) == "token 1"
    server.now += 2
    assert server.tokens.due(WANTED)
    assert await server.tokens.get(WANTED) == "token 2"


@pytest.mark.parametrize(("forbidden", "unknown"), [(2, 0), (0, 2), (1, 1)])
async def test_a_server_that_does_not_know_the_pod_yet_is_retried_within_a_second(forbidden: int, unknown: int) -> None:
    server = Server()
    server.forbidden, server.unknown, started_at = forbidden, unknown, server.now
    assert await server.tokens.get(WANTED) == "token 3"
    assert server.now - started_at < 1


async def test_a_token_that_stays_refused_is_an_error() -> None:
    server = Server()
    server.forbidden = 9
    with pytest.raises(ContentError, match="failed to fetch token: bound to a pod"):
        await server.tokens.get(WANTED)
    assert len(server.calls) == 3


async def test_a_token_is_bound_to_its_pod() -> None:
    server = Server()
    await server.tokens.get(WANTED)
    call = server.calls[0]
    assert (call.method, call.path) == ("POST", "/api/v1/namespaces/ns/serviceaccounts/robot/token")
    body = json.loads(call.body)
    spec = body["spec"]
    assert (body["apiVersion"], body["kind"]) == ("authentication.k8s.io/v1", "TokenRequest")
    assert spec["boundObjectRef"] == {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "u"}
    assert (spec["audiences"], spec["expirationSeconds"]) == (["vault"], 1000)


async def test_a_valid_token_is_kept_while_the_server_is_away() -> None:
    server = Server()
    await server.tokens.get(WANTED)
    server.down = True
    server.now += 900
    assert await server.tokens.get(WANTED) == "token 1"
    server.now += 101
    with pytest.raises(ContentError, match="failed to fetch token: away"):
        await server.tokens.get(WANTED)


async def test_a_token_for_a_year_is_replaced_each_day() -> None:
    server, wanted = Server(), msgspec.structs.replace(WANTED, seconds=365 * 86400)
    await server.tokens.get(wanted)
    server.now += 86399
    assert not server.tokens.due(wanted)
    server.now += 2
    assert server.tokens.due(wanted)


async def test_a_clock_that_went_back_and_a_pod_that_is_gone_cost_the_token() -> None:
    server = Server()
    await server.tokens.get(WANTED)
    server.now -= 5
    assert server.tokens.due(WANTED)
    server.now += 5
    server.tokens.forget("u")
    assert server.tokens.due(WANTED)


def test_trust_bundles_are_queried_once_each_and_not_for_a_source_that_names_none() -> None:
    bundles = [{"name": "a"}, {"signerName": "s.example/x"}, {"name": "a", "path": "other"}, {"path": "none"}]
    sources = [
        VolumeProjection(clusterTrustBundle=decode(encode(one), ClusterTrustBundleProjection)) for one in bundles
    ]
    found = bundles_of([*sources, VolumeProjection()])
    assert found == [BundleQuery(name="a"), BundleQuery(signer="s.example/x")]
