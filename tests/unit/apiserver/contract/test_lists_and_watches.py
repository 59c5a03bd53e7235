"""Lists in pieces, selectors, and watches that go on from a version."""

from __future__ import annotations

import pytest

from tests.support.raw_api import Obj, RawApi
from tests.unit.apiserver.contract.conftest import Namespace

pytestmark = pytest.mark.slow


def config_maps(space: Namespace, *names: str, **labels: str) -> None:
    for name in names:
        space.api.make(space.of("configmaps"), {"metadata": {"name": name, "labels": {"mine": "yes", **labels}}})


def names(found: Obj) -> list[str]:
    return [one["metadata"]["name"] for one in found["items"]]


MINE = {"labelSelector": "mine"}


# -- lists ------------------------------------------------------------------------------------------------------------
def test_a_list_has_its_kind_once(space: Namespace) -> None:
    config_maps(space, "b", "a")
    found = space.api.get(space.of("configmaps"), **MINE)
    assert (found["kind"], found["apiVersion"]) == ("ConfigMapList", "v1")
    assert names(found) == ["a", "b"]
    assert not {"kind", "apiVersion"} & found["items"][0].keys()


def test_an_empty_list_is_a_list(space: Namespace) -> None:
    found = space.api.get(space.pods)
    assert found["items"] == []
    assert int(found["metadata"]["resourceVersion"]) > 0


def test_a_list_in_pieces_is_that_of_its_first_piece(space: Namespace) -> None:
    for name in "abcde":
        space.pod(name)
    first = space.api.get(space.pods, limit="2")
    assert (names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 3)
    space.pod("aa")
    space.api("DELETE", f"{space.pods}/d")
    second = space.api.get(space.pods, limit="2", **{"continue": first["metadata"]["continue"]})
    assert names(second) == ["c", "d"]
    last = space.api.get(space.pods, limit="2", **{"continue": second["metadata"]["continue"]})
    assert (names(last), last["metadata"].get("continue", "")) == (["e"], "")


def test_a_selection_has_no_remaining_item_count(space: Namespace) -> None:
    config_maps(space, "a", "b", "c")
    found = space.api.get(space.of("configmaps"), limit="1", **MINE)
    assert found["metadata"]["continue"]
    assert "remainingItemCount" not in found["metadata"]


def test_an_invalid_continue_token_is_refused(api: RawApi) -> None:
    assert api("GET", "/api/v1/nodes", query={"limit": "1", "continue": "nonsense"}).failure[:2] == (400, "BadRequest")


def test_a_version_of_the_future_is_refused_for_now(api: RawApi) -> None:
    refused = api("GET", "/api/v1/nodes", query={"resourceVersion": str(1 << 60)})
    code, reason, text = refused.failure
    assert (code, reason) == (504, "Timeout")
    assert text.startswith(f"Timeout: Too large resource version: {1 << 60}, current: ")
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    assert refused.details == {"causes": [cause], "retryAfterSeconds": 1}
    assert refused.headers["retry-after"] == "1"


def test_a_version_that_is_no_number_is_refused(api: RawApi) -> None:
    refused = api("GET", "/api/v1/nodes", query={"resourceVersion": "x"})
    why = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    assert refused.failure == (400, "BadRequest", f"invalid resource version: {why}")


@pytest.mark.parametrize(
    ("selector", "fitting"),
    [
        ("tier=web", ["a"]),
        ("tier!=web", ["b", "c"]),
        ("tier in (web, db)", ["a", "b"]),
        ("tier notin (web)", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("mine=yes,tier=db", ["b"]),
    ],
)
def test_labels_select(space: Namespace, selector: str, fitting: list[str]) -> None:
    config_maps(space, "a", tier="web")
    config_maps(space, "b", tier="db")
    config_maps(space, "c")
    found = space.api.get(space.of("configmaps"), labelSelector=f"{selector},mine")
    assert names(found) == fitting


def test_a_selector_that_cannot_be_read_is_refused(space: Namespace) -> None:
    for selector in ({"labelSelector": "a in b"}, {"fieldSelector": "spec"}):
        assert space.api("GET", space.pods, query=selector).failure[:2] == (400, "BadRequest")


def test_fields_select_pods_of_a_node(space: Namespace) -> None:
    space.pod("a", nodeName="contract-node")
    space.pod("b")
    assert names(space.api.get(space.pods, fieldSelector="spec.nodeName=contract-node")) == ["a"]
    assert names(space.api.get(space.pods, fieldSelector="spec.nodeName!=contract-node,status.phase=Pending")) == ["b"]
    assert names(space.api.get(space.pods, fieldSelector="metadata.name=b")) == ["b"]


def test_a_field_that_does_not_select_is_named(space: Namespace) -> None:
    refused = space.api("GET", space.pods, query={"fieldSelector": "spec.hostname=x"})
    assert refused.failure[:2] == (400, "BadRequest")
    assert "field label not supported: spec.hostname" in refused.failure[2]
    refused = space.api("GET", space.of("configmaps"), query={"fieldSelector": "data=x"})
    text = '"data" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert text in refused.failure[2]


# -- watches ----------------------------------------------------------------------------------------------------------
def test_a_watch_reports_the_changes_since_its_version(space: Namespace) -> None:
    version = space.api.get(space.of("configmaps"))["metadata"]["resourceVersion"]
    config_maps(space, "a")
    space.api("PATCH", f"{space.of('configmaps')}/a", {"data": {"x": "1"}}, form="application/merge-patch+json")
    last = space.api.get(f"{space.of('configmaps')}/a")
    space.api("DELETE", f"{space.of('configmaps')}/a")
    query = {"resourceVersion": version, "timeoutSeconds": "2", **MINE}
    seen = list(space.api.watch(space.of("configmaps"), **query))
    assert [(kind, obj["metadata"]["name"]) for kind, obj in seen] == [
        ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"),
    ]  # fmt: skip
    gone = seen[2][1]
    assert gone["data"] == last["data"]
    assert int(gone["metadata"]["resourceVersion"]) > int(last["metadata"]["resourceVersion"])
    assert (gone["kind"], gone["apiVersion"]) == ("ConfigMap", "v1")


def test_an_object_that_leaves_a_selection_is_deleted_for_its_watch(space: Namespace) -> None:
    space.pod("a")
    version = space.api.get(space.pods)["metadata"]["resourceVersion"]
    space.api.patch(f"{space.pods}/a/status", {"status": {"phase": "Running"}})
    space.api.patch(f"{space.pods}/a/status", {"status": {"phase": "Failed"}})
    query = {"resourceVersion": version, "timeoutSeconds": "2", "fieldSelector": "status.phase=Running"}
    seen = [(kind, obj["status"]["phase"]) for kind, obj in space.api.watch(space.pods, **query)]
    assert [kind for kind, _ in seen] == ["ADDED", "DELETED"]


def test_a_watch_without_a_version_starts_with_the_present_objects(space: Namespace) -> None:
    config_maps(space, "a")
    seen = [
        (kind, obj["metadata"]["name"])
        for kind, obj in space.api.watch(space.of("configmaps"), timeoutSeconds="1", **MINE)
    ]
    assert seen == [("ADDED", "a")]


def test_a_streamed_list_ends_with_a_bookmark(space: Namespace) -> None:
    config_maps(space, "a")
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true",
             "timeoutSeconds": "2", **MINE}  # fmt: skip
    seen = list(space.api.watch(space.of("configmaps"), **query))
    assert [kind for kind, _ in seen[:2]] == ["ADDED", "BOOKMARK"]
    mark = seen[1][1]
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert (mark["kind"], int(mark["metadata"]["resourceVersion"]) > 0) == ("ConfigMap", True)


def test_a_streamed_list_wants_its_options_whole(api: RawApi) -> None:
    query = {"watch": "true", "sendInitialEvents": "true", "timeoutSeconds": "1"}
    assert api("GET", "/api/v1/nodes", query=query).failure[:2] == (422, "Invalid")
