"""A patch, merged as an API server does, gives what was wanted."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.api_clients.heartbeat_client.node_status.patch import node_patch, without_empty
from actors.api_clients.heartbeat_client.node_status.status import changed
from tests.support.apiserver.strategic import strategic_merge

TEXT = st.text("ab", max_size=2)
MAP = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), TEXT, max_size=4)
CONDITIONS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["A", "B", "C", "D"]), "status": TEXT}, optional={"message": TEXT}),
    max_size=4,
    unique_by=lambda one: one["type"],
)
ADDRESSES = st.lists(st.fixed_dictionaries({"type": st.sampled_from(["X", "Y"]), "address": TEXT}), max_size=3)
IMAGES = st.lists(st.fixed_dictionaries({"names": st.lists(TEXT, max_size=2)}), max_size=3)
STATUS = st.fixed_dictionaries(
    {},
    optional={
        "capacity": MAP,
        "nodeInfo": st.fixed_dictionaries({"bootID": TEXT}, optional={"swap": MAP}),
        "addresses": ADDRESSES,
        "conditions": CONDITIONS,
        "images": IMAGES,
        "volumesInUse": st.lists(TEXT, max_size=3),
    },
)
METADATA = st.fixed_dictionaries({}, optional={"labels": MAP, "annotations": MAP})


def wanted(node: dict[str, Any]) -> dict[str, Any]:
    """Empty and missing are one in a status; conditions are a map."""
    status = without_empty(node.get("status", {}))
    status["conditions"] = {one["type"]: one for one in status.get("conditions", [])}
    return {"metadata": {key: value for key, value in node.get("metadata", {}).items() if value}, "status": status}


@given(METADATA, METADATA, STATUS, STATUS)
def test_the_old_node_with_the_patch_is_the_new_one(old_meta, new_meta, old_status, new_status):
    old, new = {"metadata": old_meta, "status": old_status}, {"metadata": new_meta, "status": new_status}
    before = copy.deepcopy((old, new))
    patch = node_patch(old, new)
    merged = strategic_merge("Node", copy.deepcopy(old), copy.deepcopy(patch))
    assert (old, new) == before
    assert wanted(merged) == wanted(new)
    assert node_patch(new, new) == {}


def test_empty_fields_that_the_server_omits_are_not_written_again():
    ours = {
        "images": [{"names": ["a"], "sizeBytes": 0}],
        "runtimeHandlers": [{"name": "", "features": {"userNamespaces": False}}],
        "volumesInUse": [],
        "nodeInfo": {"machineID": "", "bootID": "b"},
    }
    server_status = {
        "images": [{"names": ["a"]}],
        "runtimeHandlers": [{"features": {"userNamespaces": False}}],
        "nodeInfo": {"bootID": "b"},
    }
    assert node_patch({"status": server_status}, {"status": ours}) == {}
    assert not changed({"status": server_status}, {"status": ours})
    told = {**server_status, "runtimeHandlers": [{}]}
    assert node_patch({"status": told}, {"status": ours})["status"] == {
        "runtimeHandlers": server_status["runtimeHandlers"]
    }


def test_a_label_without_a_value_is_a_label():
    old: dict[str, Any] = {"metadata": {"labels": {}}}
    new = {"metadata": {"labels": {"node-role": ""}}}
    assert node_patch(old, new) == {"metadata": {"labels": {"node-role": ""}}}


def test_a_condition_with_an_empty_type_is_left_alone():
    unnamed, ready = {"type": "", "status": "x"}, {"type": "Ready", "status": "True"}
    old = {"status": {"conditions": [unnamed, {**ready, "status": "False"}]}}
    new = {"status": {"conditions": [unnamed, ready]}}
    assert node_patch(old, new) == {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
