"""Objects of every collection in protobuf are what they are in JSON, both ways: in an answer, a list and a watch."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from actors.shared.api import kubeconfig
from actors.shared.api.client import ApiClient
from actors.shared.api.media_types import JSON, PROTOBUF
from actors.shared.kube.protobuf.envelope import from_json, to_json
from tests.support.api_samples import CLUSTER, NAMESPACED
from tests.support.joined import Cluster
from tests.support.raw_api import MERGE, Answered, Obj, RawApi
from tests.unit.apiserver.contract.conftest import Namespace

BOTH = f"{PROTOBUF},{JSON}"
MOST = 1 << 24
KINDS = {
    "configmaps": "ConfigMap", "events": "Event", "persistentvolumeclaims": "PersistentVolumeClaim", "pods": "Pod",
    "secrets": "Secret", "serviceaccounts": "ServiceAccount", "services": "Service", "leases": "Lease",
    "resourceclaims": "ResourceClaim", "nodes": "Node", "persistentvolumes": "PersistentVolume",
    "certificatesigningrequests": "CertificateSigningRequest", "runtimeclasses": "RuntimeClass",
    "resourceslices": "ResourceSlice", "csidrivers": "CSIDriver", "csinodes": "CSINode",
    "volumeattachments": "VolumeAttachment",
}  # fmt: skip


def without_nulls(value: Any) -> Any:
    """Go writes null for an empty list that is not left out, and for a time that is not set."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def read(answered: Answered) -> Obj:
    """An answer in protobuf."""
    assert answered.headers["content-type"] == PROTOBUF, (answered.headers, answered.body[:500])
    found: Obj = json.loads(to_json(answered.body, MOST))
    return found


def written(obj: Obj) -> bytes:
    found = from_json(obj)
    assert found is not None
    assert (found.unfit, found.unknown) == ([], [])
    return found.data


def sample(collection: str, name: str, obj: Obj) -> Obj:
    version, _, plural = collection.rpartition("/")
    metadata = {**obj.get("metadata", {}), "name": name, "annotations": {"empty": "", "text": "ü\n"}}
    return {**obj, "kind": KINDS[plural], "apiVersion": version, "metadata": metadata}


def path_of(collection: str, space: Namespace) -> str:
    version, _, plural = collection.rpartition("/")
    if collection in CLUSTER:
        return f"/{'api' if version == 'v1' else 'apis'}/{collection}"
    return space.of(plural, "" if version == "v1" else version)


@pytest.fixture(params=[*NAMESPACED, *CLUSTER])
def made(request: pytest.FixtureRequest, space: Namespace) -> Iterator[tuple[str, str]]:
    """The path of a collection and the name of an object in it, which was created in protobuf."""
    collection, name = request.param, f"proto-{uuid.uuid4().hex[:8]}"
    path = path_of(collection, space)
    obj = sample(collection, name, {**NAMESPACED, **CLUSTER}[collection])
    if "involvedObject" in obj:
        obj["involvedObject"] = {**obj["involvedObject"], "namespace": space.name}
    body = written(obj)
    answered = space.api("POST", path, body, form=PROTOBUF, accept=BOTH)
    assert answered.code == 201, answered.body
    assert read(answered)["metadata"]["name"] == name
    yield path, name
    space.api("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0} if path.endswith("/pods") else None)


def same_version(name: str, as_json: Callable[[], Any], as_protobuf: Callable[[], Any]) -> tuple[Any, Any]:
    """The answers in both forms, once both have the object in one version: a real server's controllers change it."""
    while True:
        pair = as_json(), as_protobuf()
        first, second = (_find(name, one)["metadata"]["resourceVersion"] for one in pair)
        if first == second:
            return pair


def _find(name: str, answer: Any) -> Any:
    """The object, or the one of the list."""
    return next(one for one in answer.get("items", [answer]) if one["metadata"]["name"] == name)


def test_an_object_is_the_same_in_both_forms(api: RawApi, made: tuple[str, str]) -> None:
    path, name = made
    one = f"{path}/{name}"
    found, other = same_version(name, lambda: api.get(one), lambda: read(api("GET", one, accept=BOTH)))
    assert without_nulls(other) == without_nulls(found)
    found, listed = same_version(name, lambda: api.get(path), lambda: read(api("GET", path, accept=BOTH)))
    assert (listed["kind"], listed["apiVersion"]) == (found["kind"], found["apiVersion"])
    assert without_nulls(_find(name, listed)) == without_nulls(_find(name, found))


def test_an_object_that_was_read_in_protobuf_is_the_same_after_it_was_put_back(
    api: RawApi, made: tuple[str, str]
) -> None:
    path, name = made
    before = api.get(f"{path}/{name}")
    put = api("PUT", f"{path}/{name}", written(read(api("GET", f"{path}/{name}", accept=BOTH))), form=PROTOBUF)
    assert put.code == 200, put.body
    for obj in (after := put.obj, before):
        obj["metadata"].pop("resourceVersion")
        obj["metadata"].pop("managedFields", None)
    assert after == before


def test_an_object_comes_the_same_by_a_watch_in_both_forms(cluster: Cluster, made: tuple[str, str]) -> None:
    path, name = made

    async def first(content_type: str) -> Any:
        client = ApiClient(kubeconfig.load(cluster.admin), content_type=content_type)
        query = {"fieldSelector": f"metadata.name={name}", "resourceVersion": "0", "timeoutSeconds": "60"}
        try:
            async with aclosing(client.watch(path, query)) as events:
                async for event in events:
                    return event.type, without_nulls(json.loads(event.object))
        finally:
            await client.close()

    assert asyncio.run(first(PROTOBUF)) == asyncio.run(first(JSON))


def test_a_patch_is_answered_in_protobuf(space: Namespace) -> None:
    space.pod()
    merged = space.api("PATCH", f"{space.pods}/p", {"metadata": {"labels": {"a": "b"}}}, form=MERGE, accept=BOTH)
    assert read(merged)["metadata"]["labels"] == {"a": "b"}


def test_a_refusal_and_a_deletion_are_in_protobuf(space: Namespace) -> None:
    missing = read(space.api("GET", f"{space.pods}/none", accept=BOTH))
    assert (missing["kind"], missing["code"], missing["reason"]) == ("Status", 404, "NotFound")
    assert missing["details"]["name"] == "none"
    uid = space.pod()["metadata"]["uid"]
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "preconditions": {"uid": "other"}}
    refused = space.api("DELETE", f"{space.pods}/p", written(options), form=PROTOBUF, accept=BOTH)
    assert (refused.code, read(refused)["reason"]) == (409, "Conflict")
    options["preconditions"] = {"uid": uid}
    assert space.api("DELETE", f"{space.pods}/p", written(options), form=PROTOBUF, accept=BOTH).code == 200
    assert space.api("GET", f"{space.pods}/p").code == 404


def test_a_watch_of_a_version_that_is_gone_says_so_in_protobuf(cluster: Cluster, space: Namespace) -> None:
    async def error(content_type: str) -> str:
        client = ApiClient(kubeconfig.load(cluster.admin), content_type=content_type)
        try:
            async with aclosing(client.watch(space.pods, {"resourceVersion": "-1"})) as events:
                async for _ in events:
                    pass
        except Exception as found:  # noqa: BLE001 - which one is what both are compared by
            return f"{type(found).__name__} {found}"
        finally:
            await client.close()
        return ""

    assert asyncio.run(error(PROTOBUF)) == asyncio.run(error(JSON)) != ""


def test_a_token_is_issued_and_reviewed_in_protobuf(space: Namespace) -> None:
    bound = space.pod()
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": bound["metadata"]["uid"]}
    request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
               "spec": {"audiences": ["a"], "expirationSeconds": 3600, "boundObjectRef": reference}}  # fmt: skip
    path = f"{space.path}/serviceaccounts/default/token"
    issued = read(space.api("POST", path, written(request), form=PROTOBUF, accept=BOTH))
    assert issued["spec"]["boundObjectRef"] == reference
    assert issued["status"]["expirationTimestamp"].endswith("Z")
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1",
              "spec": {"token": issued["status"]["token"], "audiences": ["a"]}}  # fmt: skip
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    reviewed = read(space.api("POST", path, written(review), form=PROTOBUF, accept=BOTH))
    assert without_nulls(reviewed["status"]) == without_nulls(space.api("POST", path, review).obj["status"])


def test_access_is_reviewed_in_protobuf(space: Namespace) -> None:
    review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
              "spec": {"user": "somebody", "groups": ["system:masters"], "extra": {"a": ["b"]},
                       "resourceAttributes": {"verb": "get", "resource": "nodes", "name": "n"}}}  # fmt: skip
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    found = read(space.api("POST", path, written(review), form=PROTOBUF, accept=BOTH))
    assert found["status"]["allowed"] is True
    assert without_nulls(found["status"]) == without_nulls(space.api("POST", path, review).obj["status"])
