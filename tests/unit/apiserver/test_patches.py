"""Strategic merge, merge and JSON patches, as the documentation of kubectl patch and the RFCs have them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.apiserver.errors import StatusError
from tests.support.apiserver.patches import JSON, MERGE, STRATEGIC, patched

POD: dict[str, Any] = {
    "metadata": {"finalizers": ["a", "b"], "labels": {"x": "1"}},
    "spec": {
        "containers": [
            {"name": "one", "image": "i:1", "env": [{"name": "A", "value": "1"}]},
            {"name": "two", "image": "i:2"},
        ],
        "tolerations": [{"key": "old"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
    "status": {
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{"name": "one", "ready": True}],
    },
}


def strategic(patch: Any, kind: str = "Pod", current: Any = POD) -> Any:
    return patched(kind, STRATEGIC, current, msgspec.json.encode(patch))


def test_containers_merge_by_name_and_their_env_too() -> None:
    patch = {"spec": {"containers": [{"name": "one", "env": [{"name": "B", "value": "2"}]}, {"name": "three"}]}}
    made = strategic(patch)["spec"]["containers"]
    assert [one["name"] for one in made] == ["one", "two", "three"]
    assert [one["name"] for one in made[0]["env"]] == ["A", "B"]
    assert made[0]["image"] == "i:1"


def test_elements_are_deleted_and_ordered_as_directed() -> None:
    order = [{"name": "two"}, {"name": "one"}]
    made = strategic({"spec": {"$setElementOrder/containers": order, "containers": [{"name": "one", "image": "n"}]}})
    assert [one["name"] for one in made["spec"]["containers"]] == ["two", "one"]
    made = strategic({"spec": {"containers": [{"name": "two", "$patch": "delete"}]}})
    assert [one["name"] for one in made["spec"]["containers"]] == ["one"]


def test_lists_without_a_key_or_with_a_replace_directive_are_replaced() -> None:
    made = strategic({"spec": {"tolerations": [{"key": "new"}]}, "status": {"containerStatuses": [{"name": "two"}]}})
    assert made["spec"]["tolerations"] == [{"key": "new"}]
    assert made["status"]["containerStatuses"] == [{"name": "two"}]
    made = strategic({"spec": {"containers": [{"$patch": "replace"}, {"name": "only"}]}})
    assert made["spec"]["containers"] == [{"name": "only"}]
    node = {"status": {"addresses": [{"type": "InternalIP", "address": "1"}, {"type": "Hostname", "address": "h"}]}}
    patch = {"status": {"addresses": [{"type": "InternalIP", "address": "2"}, {"$patch": "replace"}]}}
    assert strategic(patch, "Node", node)["status"]["addresses"] == [{"type": "InternalIP", "address": "2"}]


def test_keys_are_retained_and_maps_replaced() -> None:
    patch = {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}]}}
    assert strategic(patch)["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/"}}]
    made = strategic({"metadata": {"labels": {"$patch": "replace", "y": "2"}}})
    assert made["metadata"]["labels"] == {"y": "2"}


def test_finalizers_are_a_set_and_null_removes() -> None:
    made = strategic({"metadata": {"finalizers": ["b", "c"], "labels": None}})
    assert made["metadata"] == {"finalizers": ["a", "b", "c"]}
    made = strategic({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})
    assert made["metadata"]["finalizers"] == ["b"]


def test_a_merge_patch_replaces_lists_and_the_original_stays_as_it_was() -> None:
    before = msgspec.json.encode(POD)
    made = patched("Pod", MERGE, POD, b'{"spec": {"containers": []}, "status": null}')
    assert made["spec"]["containers"] == []
    assert "status" not in made
    assert msgspec.json.encode(POD) == before


@pytest.mark.parametrize(
    ("operations", "labels"),
    [
        ([{"op": "add", "path": "/metadata/labels/a~1b", "value": "1"}], {"x": "1", "a/b": "1"}),
        (
            [
                {"op": "test", "path": "/metadata/labels/x", "value": "1"},
                {"op": "remove", "path": "/metadata/labels/x"},
            ],
            {},
        ),
        ([{"op": "move", "from": "/metadata/labels/x", "path": "/metadata/labels/y"}], {"y": "1"}),
        ([{"op": "replace", "path": "/metadata/labels", "value": {}}], {}),
    ],
)
def test_a_json_patch_is_done_in_order(operations: list[Any], labels: dict[str, str]) -> None:
    assert patched("Pod", JSON, POD, msgspec.json.encode(operations))["metadata"]["labels"] == labels


def test_a_json_patch_that_fails_is_422() -> None:
    with pytest.raises(StatusError) as caught:
        patched("Pod", JSON, POD, b'[{"op": "test", "path": "/metadata/labels/x", "value": "2"}]')
    assert caught.value.code == 422
