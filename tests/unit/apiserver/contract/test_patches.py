"""The forms of a patch, and how lists are merged in each."""

from __future__ import annotations

from tests.support.raw_api import JSON_PATCH, MERGE, Obj
from tests.unit.apiserver.contract.conftest import Namespace


def conditions(obj: Obj) -> dict[str, str]:
    return {one["type"]: one["status"] for one in obj["status"]["conditions"]}


def test_a_merge_patch_takes_null_for_removal_and_replaces_lists(space: Namespace) -> None:
    made = {"metadata": {"name": "c", "labels": {"a": "1", "b": "2"}}, "data": {"x": "1"}}
    space.api.make(space.of("configmaps"), made)
    found = space.api.patch(
        f"{space.of('configmaps')}/c", {"metadata": {"labels": {"a": None}}, "data": {"y": "2"}}, MERGE
    )
    assert (found["metadata"]["labels"], found["data"]) == ({"b": "2"}, {"x": "1", "y": "2"})


def test_a_json_patch_is_done_whole_or_not_at_all(space: Namespace) -> None:
    space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}, "data": {"x": "1"}})
    path = f"{space.of('configmaps')}/c"
    steps = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "add", "path": "/metadata/labels", "value": {"a/b": "2"}},
    ]
    steps.append({"op": "copy", "from": "/metadata/labels/a~1b", "path": "/data/y"})
    found = space.api.patch(path, steps, JSON_PATCH)
    assert (found["data"], found["metadata"]["labels"]) == ({"x": "1", "y": "2"}, {"a/b": "2"})
    steps = [{"op": "replace", "path": "/data/x", "value": "9"}, {"op": "test", "path": "/data/x", "value": "1"}]
    refused = space.api("PATCH", path, steps, form=JSON_PATCH)
    text = "the server rejected our request due to an error in our request"
    assert refused.failure == (422, "Invalid", text)
    assert space.api.get(path)["data"]["x"] == "1"


def test_a_patch_that_cannot_be_read_is_refused(space: Namespace) -> None:
    space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}})
    assert space.api("PATCH", f"{space.of('configmaps')}/c", b"{", form=MERGE).failure[:2] == (400, "BadRequest")


def test_a_strategic_patch_merges_conditions_by_type_and_addresses_by_ip(space: Namespace) -> None:
    space.pod(nodeName="contract-node")
    path = f"{space.pods}/p/status"
    first = [{"type": "Ready", "status": "True"}, {"type": "example.com/a", "status": "True"}]
    space.api.patch(path, {"status": {"conditions": first, "podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1"}})
    second: Obj = {
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "example.com/b"}],
        "conditions": [
            {"type": "Ready", "status": "False"},
            {"type": "example.com/b", "status": "True"},
            {"type": "example.com/a", "$patch": "delete"},
        ],
        "podIP": "10.0.0.2",
        "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.2"}],
    }
    found = space.api.patch(path, {"status": second})
    assert conditions(found) == {"Ready": "False", "example.com/b": "True"}
    assert found["status"]["podIPs"] == [{"ip": "10.0.0.2"}]


def test_a_strategic_patch_replaces_lists_that_have_no_key(space: Namespace) -> None:
    space.pod(nodeName="contract-node")
    path = f"{space.pods}/p/status"
    state = {"image": "i", "imageID": "s", "lastState": {}, "ready": False, "restartCount": 0, "state": {}}
    space.api.patch(path, {"status": {"containerStatuses": [{"name": "a", **state}]}})
    more = {"status": {"containerStatuses": [{"name": "a", **state, "restartCount": 1}]}}
    assert [one["restartCount"] for one in space.api.patch(path, more)["status"]["containerStatuses"]] == [1]


def test_a_patch_from_an_older_version_is_a_conflict(space: Namespace) -> None:
    made = space.pod()
    space.api.patch(f"{space.pods}/p", {"metadata": {"labels": {"a": "b"}}})
    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"], "labels": {"a": "c"}}}
    assert space.api("PATCH", f"{space.pods}/p", old, form=MERGE).failure[:2] == (409, "Conflict")


def test_a_patch_of_another_pod_of_that_name_is_refused(space: Namespace) -> None:
    space.pod()
    other = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "status": {"phase": "Failed"}}
    refused = space.api("PATCH", f"{space.pods}/p/status", other, form=MERGE)
    assert refused.failure[:2] in [(409, "Conflict"), (422, "Invalid")]
    assert refused.details["name"] == "p"


def test_a_patch_that_changes_nothing_makes_no_version(space: Namespace) -> None:
    made = space.pod()
    same = space.api.patch(f"{space.pods}/p", {"spec": {"restartPolicy": "Always"}})
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
