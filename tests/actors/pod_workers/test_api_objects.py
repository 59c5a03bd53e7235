"""A shard with pods that need objects of the API: environments, pull secrets, runtime classes, and their absence."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import GetObject, GetServices, ObjectRef, ObjectState, Services
from actors.image_manager.messages import EnsureImage, ImageFailed
from tests.support.shard_harness import Driven, container, pod

SECRET = ObjectRef("Secret", "s", "default")
RUNTIME = ObjectRef("RuntimeClass", "fast")


def secret(ref: ObjectRef = SECRET, kind: str = "Opaque", **data: bytes) -> ObjectState:
    body = {
        "type": kind,
        "data": {key.replace("__", "."): base64.b64encode(text).decode() for key, text in data.items()},
    }
    return ObjectState(ref, json.dumps(body).encode())


def with_key(name: str = "a", **more: Any) -> dict[str, Any]:
    variable = {"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    return container(name, env=[variable], **more)


def values(node: Driven, name: str = "a") -> dict[str, bytes]:
    return {pair.key: pair.value for pair in node.containers(name)[-1].config.envs}


async def test_a_container_starts_with_the_current_values_of_its_secret(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        node.objects[SECRET] = secret(k=b"\xffone")
        node.services = Services(True, [], b'{"metadata":{"name":"kubernetes"},"spec":{"clusterIP":"10.0.0.1",'
                                            b'"ports":[{"port":443,"protocol":"TCP"}]}}')  # fmt: skip
        await node.want(pod(containers=[with_key()]))
        await node.until(lambda: node.running("a"))
        assert values(node)["X"] == b"\xffone"
        assert values(node)["KUBERNETES_SERVICE_HOST"] == b"10.0.0.1"
        assert ("Created", "Container created") in node.events()
        await node.until(lambda: ("Started", "Container started") in node.events())


async def test_a_container_whose_secret_is_missing_waits_with_a_reason_and_others_run(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        await node.want(pod(containers=[with_key(), container("b")]))
        await node.until(lambda: node.running("b") and node.waiting() != "")
        why = node.observed().waiting["a"]
        assert (why.reason, why.message) == ("CreateContainerConfigError", 'secret "s" not found')
        assert ("Failed", 'Error: secret "s" not found') in node.events()
        node.objects[SECRET] = secret(k=b"late")
        await node.pass_time(12)
        await node.until(lambda: node.running("a"))
        assert values(node)["X"] == b"late"
        assert node.waiting() == ""


async def test_a_pod_of_the_api_waits_until_services_are_known(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        node.services = Services(synced=False)
        await node.want(pod())
        await node.until(lambda: node.waiting() == "CreateContainerConfigError")
        text = "services have not yet been read at least once, cannot construct envvars"
        assert node.observed().waiting["a"].message == text
        node.services = Services(synced=True)
        await node.pass_time(12)
        await node.until(lambda: node.running("a"))


async def test_a_static_pod_waits_for_no_services(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        node.services = Services(synced=False)
        static = {"annotations": {"kubernetes.io/config.source": "file"}}
        await node.want(pod(metadata=static))
        await node.until(lambda: node.running("a"))


async def test_the_image_is_pulled_with_the_pods_secrets(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        old = ObjectRef("Secret", "old", "default")
        node.objects[SECRET] = secret(kind="kubernetes.io/dockerconfigjson", __dockerconfigjson=b'{"auths":{}}')
        node.objects[old] = secret(old, kind="kubernetes.io/dockercfg", __dockercfg=b"{}")
        names = [{"name": name} for name in ("s", "old", "gone")]
        await node.want(pod(imagePullSecrets=names, serviceAccountName="robot"))
        await node.until(lambda: node.running("a"))
        [asked] = [question for _, question in node.harness.asks if isinstance(question, EnsureImage)]
        assert [one.document for one in asked.pull_secrets] == [b'{"auths":{}}', b"{}"]
        assert [one.name for one in asked.pull_secrets] == ["s", "old"]
        assert (asked.field, asked.service_account) == ("spec.containers{a}", "robot")
        assert (
            "FailedToRetrieveImagePullSecret",
            "Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.",
        ) in node.events()


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"{", ".dockerconfigjson is no JSON"),
        (b"[]", ".dockerconfigjson has no registries by name"),
        (b'{"auths": "x"}', ".dockerconfigjson has no registries by name"),
    ],
)
async def test_a_pull_secret_that_cannot_be_read_is_named_and_the_others_are_used(tmp_path, document, why):
    async with Driven(tmp_path, joined=True) as node:
        old = ObjectRef("Secret", "old", "default")
        node.objects[SECRET] = secret(kind="kubernetes.io/dockerconfigjson", __dockerconfigjson=document)
        node.objects[old] = secret(old, kind="kubernetes.io/dockercfg", __dockercfg=b"{}")
        await node.want(pod(imagePullSecrets=[{"name": "s"}, {"name": "old"}]))
        await node.until(lambda: node.running("a"))
        [asked] = [question for _, question in node.harness.asks if isinstance(question, EnsureImage)]
        assert [one.name for one in asked.pull_secrets] == ["old"]
        text = f"Image pull secret s is not used: {why}"
        assert ("FailedToRetrieveImagePullSecret", text) in node.events()


async def test_a_failed_pull_is_reported_with_the_kubelets_reason(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        text = 'Failed to pull image "busybox": no such host'
        node.answer(EnsureImage, ImageFailed("busybox", "ErrImagePull", text, retry_seconds=10.0))
        await node.want(pod())
        await node.until(lambda: node.waiting() == "ErrImagePull")
        assert [told for told in node.events() if told[0] == "Failed"] == [
            ("Failed", text),
            ("Failed", "Error: ErrImagePull"),
        ]
        text = 'Back-off pulling image "busybox": ErrImagePull: no such host'
        node.answer(EnsureImage, ImageFailed("busybox", "ImagePullBackOff", text, retry_seconds=10.0))
        await node.pass_time(6)
        await node.until(lambda: node.waiting() == "ImagePullBackOff")
        assert node.events()[-2:] == [("BackOff", text), ("Failed", "Error: ImagePullBackOff")]


async def test_a_runtime_class_names_the_handler_and_an_unknown_one_is_waited_for(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        await node.want(pod(runtimeClassName="fast"))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        reason, text = node.events()[-1]
        assert reason == "FailedCreatePodSandBox"
        assert text == 'Failed to create pod sandbox: runtimeclass.node.k8s.io "fast" not found'
        node.objects[RUNTIME] = ObjectState(RUNTIME, b'{"metadata":{"name":"fast"},"handler":"runc"}')
        await node.pass_time(12)
        await node.until(lambda: node.running("a"))
        assert [request.runtime_handler for request in node.fake.requests_for("RunPodSandbox")] == ["runc"]


async def test_while_the_sandbox_cannot_be_created_no_image_is_requested_again(tmp_path):
    def asked():
        return [question for _, question in node.harness.asks if isinstance(question, EnsureImage)]

    async with Driven(tmp_path, joined=True) as node:
        await node.want(pod(runtimeClassName="fast"))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        before = len(asked())
        await node.pass_time(60)
        assert len([text for reason, text in node.events() if reason == "FailedCreatePodSandBox"]) > 3
        assert len(asked()) == before
        node.objects[RUNTIME] = ObjectState(RUNTIME, b'{"metadata":{"name":"fast"},"handler":"runc"}')
        await node.pass_time(12)
        await node.until(lambda: node.running("a"))


async def test_a_change_in_another_container_does_not_shorten_the_backoff(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        await node.want(pod(containers=[with_key(), container("b")]))
        await node.until(lambda: node.waiting() == "CreateContainerConfigError" and node.running("b"))
        for _ in range(60):  # each second something wakes the pod worker
            await node.pass_time(1)
            await node.relist()
        tries = [text for reason, text in node.events() if reason == "Failed"]
        assert 5 <= len(tries) <= 11  # 1, 2, 4, 8, then each 10 seconds


async def test_a_standalone_worker_sends_no_requests_to_an_api_server(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=[with_key()], imagePullSecrets=[{"name": "s"}]))
        await node.until(lambda: node.waiting() == "CreateContainerConfigError")
        assert node.observed().waiting["a"].message == 'secret "s" not found: no API server is joined'
        assert not [question for _, question in node.harness.asks if isinstance(question, GetObject | GetServices)]


def config_maps(count: int, size: int) -> dict[ObjectRef, ObjectState]:
    refs = [ObjectRef("ConfigMap", f"c{number}", "default") for number in range(count)]
    return {ref: ObjectState(ref, json.dumps({"data": {ref.name: "x" * size}}).encode()) for ref in refs}


async def test_a_container_whose_environment_names_too_large_objects_waits_and_no_more_of_them_are_read(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        node.objects |= config_maps(60, 1 << 20)
        sources = [{"configMapRef": {"name": ref.name}} for ref in node.objects]
        await node.want(pod(containers=[container("a", envFrom=sources)]))
        await node.until(lambda: node.waiting() == "CreateContainerConfigError")
        text = "the config maps and secrets of its environment have more than 16 MiB in all"
        assert node.observed().waiting["a"].message == text
        asked = {question.ref for _, question in node.harness.asks if isinstance(question, GetObject)}
        assert len(asked & node.objects.keys()) == 16


async def test_pull_secrets_of_more_than_two_mebibytes_are_not_used_and_have_an_event(tmp_path):
    async with Driven(tmp_path, joined=True) as node:
        document = json.dumps({"auths": {"r": {"auth": "x" * 700_000}}}).encode()
        refs = [ObjectRef("Secret", f"s{number}", "default") for number in range(30)]
        kind = "kubernetes.io/dockerconfigjson"
        node.objects |= {ref: secret(ref, kind=kind, __dockerconfigjson=document) for ref in refs}
        await node.want(pod(imagePullSecrets=[{"name": ref.name} for ref in refs]))
        await node.until(lambda: node.running("a"))
        [asked] = [question for _, question in node.harness.asks if isinstance(question, EnsureImage)]
        assert [one.name for one in asked.pull_secrets] == ["s0", "s1"]
        text = "Only 2 of 30 image pull secrets are used: more than 2 MiB"
        assert ("FailedToRetrieveImagePullSecret", text) in node.events()
        read = {question.ref for _, question in node.harness.asks if isinstance(question, GetObject)}
        assert len(read & set(refs)) == 8
