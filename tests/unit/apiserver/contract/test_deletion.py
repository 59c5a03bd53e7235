"""How objects go: at once, after finalizers, and pods after a grace that their node ends."""

from __future__ import annotations

from tests.support.raw_api import MERGE
from tests.unit.apiserver.contract.conftest import NODE, Namespace


def test_an_object_is_deleted_at_once_and_the_answer_is_a_status(space: Namespace) -> None:
    made = space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}})
    path = f"{space.of('configmaps')}/c"
    found = space.api("DELETE", path)
    details = {"name": "c", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert (found.code, found.obj) == (
        200,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details},
    )
    assert space.api("DELETE", path).failure == (404, "NotFound", 'configmaps "c" not found')


def test_a_pod_without_a_node_is_deleted_at_once(space: Namespace) -> None:
    space.pod()
    assert space.api("DELETE", f"{space.pods}/p").obj["kind"] == "Pod"
    assert space.api("GET", f"{space.pods}/p").code == 404


def test_a_pod_of_a_node_is_marked_and_its_grace_can_only_become_shorter(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    path = f"{space.pods}/p"
    marked = space.api("DELETE", path).obj["metadata"]
    assert (marked["deletionGracePeriodSeconds"], marked["generation"]) == (30, 2)
    shorter = space.api("DELETE", path, {"gracePeriodSeconds": 5}).obj["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert shorter["deletionTimestamp"] < marked["deletionTimestamp"]
    longer = space.api("DELETE", path, {"gracePeriodSeconds": 60}).obj["metadata"]
    assert longer["deletionTimestamp"] == shorter["deletionTimestamp"]
    assert space.api("DELETE", path, {"gracePeriodSeconds": 0}).code == 200
    assert space.api("GET", path).code == 404


def test_the_grace_may_be_in_the_query(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    found = space.api("DELETE", f"{space.pods}/p", query={"gracePeriodSeconds": "7"})
    assert found.obj["metadata"]["deletionGracePeriodSeconds"] == 7


def test_a_pod_that_has_ended_is_deleted_at_once(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    space.api.patch(f"{space.pods}/p/status", {"status": {"phase": "Succeeded"}})
    space.api("DELETE", f"{space.pods}/p")
    assert space.api("GET", f"{space.pods}/p").code == 404


def test_a_precondition_that_does_not_hold_is_a_conflict(space: Namespace) -> None:
    made = space.pod(nodeName=NODE)["metadata"]
    path = f"{space.pods}/p"
    for field, title, more in (
        ("uid", "UID", "The object might have been deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "The object might have been modified"),
    ):
        refused = space.api("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {field: "1"}})
        text = f"the {title} in the precondition (1) does not match the {title} in record ({made[field]}). {more}"
        assert refused.failure == (409, "Conflict", f'Operation cannot be fulfilled on Pod "p": {text}')
        assert refused.details == {"name": "p", "kind": "Pod"}
    right = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}
    assert space.api("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": right}).code == 200


def test_a_finalizer_keeps_an_object_until_it_is_taken_off(space: Namespace) -> None:
    space.api.make(space.of("configmaps"), {"metadata": {"name": "c", "finalizers": ["example.com/wait"]}})
    path = f"{space.of('configmaps')}/c"
    held = space.api("DELETE", path).obj
    assert held["kind"] == "ConfigMap"
    assert "deletionTimestamp" in held["metadata"]
    assert space.api("GET", path).code == 200
    space.api.patch(path, {"metadata": {"finalizers": None}}, MERGE)
    assert space.api("GET", path).code == 404


def test_a_finalizer_keeps_a_pod_after_its_grace_period(space: Namespace) -> None:
    made = space.pod(nodeName=NODE)
    path = f"{space.pods}/p"
    space.api.patch(path, {"metadata": {"finalizers": ["example.com/wait"]}}, MERGE)
    held = space.api("DELETE", path, {"gracePeriodSeconds": 0}).obj["metadata"]
    assert (held["uid"], held["deletionGracePeriodSeconds"]) == (made["metadata"]["uid"], 0)
    space.api.patch(path, {"metadata": {"finalizers": None}}, MERGE)
    assert space.api("GET", path).code == 404


def test_a_finalizer_cannot_be_added_to_what_is_being_deleted(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    space.api("DELETE", f"{space.pods}/p")
    refused = space.api("PATCH", f"{space.pods}/p", {"metadata": {"finalizers": ["example.com/late"]}}, form=MERGE)
    assert refused.failure[:2] == (422, "Invalid")
    assert (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted"
        in (refused.failure[2])
    )


def test_a_collection_is_deleted_by_its_labels(space: Namespace) -> None:
    for name in ("a", "b", "c"):
        labels = {"keep": "yes"} if name == "c" else {}
        space.api.make(space.of("configmaps"), {"metadata": {"name": name, "labels": labels}})
    space.api("DELETE", space.of("configmaps"), query={"labelSelector": "keep!=yes"})
    left = {one["metadata"]["name"] for one in space.api.get(space.of("configmaps"))["items"]}
    assert left & {"a", "b", "c"} == {"c"}
