"""Which changes of the API server's pods the pod workers get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.pod_config.pods.config_seen import SeenTimes
from actors.pod_config.sources.api_source import ApiSource, PodChange


def pod(uid: str = "u", name: str = "web", **more: Any) -> dict[str, Any]:
    meta = {"uid": uid, "name": name, "namespace": "d", "resourceVersion": "1", **more.pop("meta", {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {}, **more}


def data(thing: Any) -> bytes:
    return json.dumps(thing).encode()


def source() -> ApiSource:
    return ApiSource(lambda uid, raw: raw)


def test_a_status_update_of_this_node_is_not_sent_to_the_pod_workers() -> None:
    api = source()
    assert api.update("u", data(pod())).needed
    running = pod(meta={"resourceVersion": "2", "managedFields": [1]}, status={"phase": "Running", "podIP": "1"})
    assert not api.update("u", data(running)).needed


@pytest.mark.parametrize(
    "changed",
    [
        pod(meta={"labels": {"a": "b"}}),
        pod(meta={"annotations": {"a": "b"}}),
        pod(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        pod(meta={"deletionGracePeriodSeconds": 3}),
        pod(spec={"containers": [{"name": "c", "image": "other"}]}),
        pod(spec={"containers": [{"name": "c", "image": "j"}]}),  # of the same length
        pod(status={"phase": "Failed"}),
        pod(status={"phase": "Succeeded"}),
        pod(status={"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "web-gpu-x7b2"}]}),
        pod(status={"phase": "Running", "extendedResourceClaimStatus": {"resourceClaimName": "web-extended"}}),
    ],
)
def test_a_change_of_the_spec_the_metadata_the_claims_or_to_a_final_phase_is_sent(changed: dict[str, Any]) -> None:
    api = source()
    api.update("u", data(pod()))
    assert api.update("u", data(changed)).needed
    assert api.candidates[0].data == data(changed)


def test_mirror_pods_are_not_run() -> None:
    api = source()
    mirror = pod(meta={"annotations": {"kubernetes.io/config.mirror": "hash"}})
    assert api.listed([data(mirror)]) == []
    assert api.synced
    assert api.candidates == []
    assert not api.update("u", data(mirror)).needed


def test_a_list_replaces_all_pods() -> None:
    api = source()
    api.listed([data(pod("a", "x")), data(pod("b", "y"))])
    api.listed([data(pod("b", "y"))])
    assert [each.uid for each in api.candidates] == ["b"]
    assert api.update("b", b"").needed
    assert not api.update("b", b"").needed


def test_a_pod_with_unknown_fields_is_accepted() -> None:
    api = source()
    strange = pod(spec={"containers": [{"name": "c", "image": "i", "future": {"x": 1}}], "volumes": None, "more": []})
    assert api.listed([data(strange)]) == []
    assert json.loads(api.candidates[0].data)["spec"]["containers"][0]["future"] == {"x": 1}


def test_an_invalid_pod_is_reported_once_and_its_last_valid_version_stays() -> None:
    api = source()
    api.update("u", data(pod()))
    bad = data(pod(spec={"containers": "none"}))
    invalid = api.update("u", bad).invalid
    assert invalid is not None
    assert "web_d" in invalid.text
    assert "containers" in invalid.text
    assert api.update("u", bad) == PodChange(), "reported already"
    assert api.candidates[0].data == data(pod())
    assert api.errors() == [invalid.text]
    assert api.update("u", data(pod(meta={"labels": {"a": "b"}}))).needed
    assert api.errors() == []


def test_an_invalid_pod_that_is_reverted_is_no_longer_reported() -> None:
    api = source()
    api.update("u", data(pod()))
    assert api.update("u", data(pod(meta={"labels": {"a": "b"}}, spec=7))).invalid is not None
    assert not api.update("u", data(pod(status={"phase": "Running"}))).needed
    assert api.errors() == []


def test_a_pod_that_is_too_large_is_rejected_by_name() -> None:
    api = source()
    many = [{"name": f"c{index}", "image": "i"} for index in range(20_000)]
    (invalid,) = api.listed([data(pod(spec={"containers": many})), data(pod("b", "y"))])
    assert "pod web_d of the API server cannot be run" in invalid.text
    assert "20000 containers in all" in invalid.text
    assert [each.uid for each in api.candidates] == ["b"]


def test_a_pod_whose_uid_or_namespace_leads_out_of_a_directory_is_rejected() -> None:
    api = source()
    for key in ("uid", "namespace", "name"):
        (invalid,) = api.listed([data(pod(meta={key: "../../etc"})), data(pod("b", "y"))])
        assert f"metadata.{key}: '../../etc' is not" in invalid.text
        assert [each.uid for each in api.candidates] == ["b"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [{"name": "../x", "image": "i"}]}, "spec.containers[0].name"),
        ({"volumes": [{"name": "a/../b", "emptyDir": {}}]}, "spec.volumes[0].name"),
        ({"securityContext": {"fsGroup": -1}}, "spec.securityContext.fsGroup"),
        ({"securityContext": {"supplementalGroups": [1, 1 << 31]}}, "spec.securityContext.supplementalGroups[1]"),
        (
            {"containers": [{"name": "c", "image": "i", "securityContext": {"runAsUser": 1 << 32}}]},
            "spec.containers[0].securityContext.runAsUser",
        ),
        ({"volumes": [{"name": "v", "secret": {"defaultMode": 1 << 40}}]}, "spec.volumes[0].secret.defaultMode"),
        (
            {"volumes": [{"name": "v", "configMap": {"items": [{"key": "k", "path": "p", "mode": -1}]}}]},
            "spec.volumes[0].configMap.items[0].mode",
        ),
        ({"terminationGracePeriodSeconds": 1 << 63}, "spec.terminationGracePeriodSeconds"),
        ({"resources": {"limits": {"cpu": "x"}}}, "spec.resources.limits[cpu]"),
        ({"overhead": {"memory": "1e999"}}, "spec.overhead[memory]"),
        ({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1e999"}}]}, "spec.volumes[0].emptyDir[sizeLimit]"),
        (
            {"initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "9" * 10_000}}}]},
            "spec.initContainers[0].resources.requests[cpu]",
        ),
        (
            {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"memory": ""}}}]},
            "spec.containers[0].resources.limits[memory]",
        ),
    ],
)
def test_a_pod_with_a_value_that_would_end_an_actor_is_rejected_and_no_other(spec: dict[str, Any], field: str) -> None:
    """It would end the worker, the volume manager or the eviction manager again and again."""
    api = source()
    whole = {"containers": [{"name": "c", "image": "i"}], **spec}
    (invalid,) = api.listed([data(pod(spec=whole)), data(pod("b", "y"))])
    assert field in invalid.text
    assert len(invalid.text) < 500
    assert [each.uid for each in api.candidates] == ["b"]


@pytest.mark.parametrize("value", [b"1e400", b'"\xff"'])
def test_a_pod_with_an_unreadable_value_in_an_unknown_field_is_rejected_and_no_other(value: bytes) -> None:
    """The types skip the field; the pod for the workers has it."""
    api = ApiSource(SeenTimes(lambda gate: True).api)
    managed = b'"managedFields": [{"fieldsV1": %s}]' % value
    broken = data(pod(meta={"managedFields": []})).replace(b'"managedFields": []', managed)
    (invalid,) = api.listed([broken, data(pod("b", "y"))])
    assert "pod web_d of the API server cannot be run" in invalid.text
    assert [each.uid for each in api.candidates] == ["b"]


def test_an_invalid_pod_is_forgotten_when_it_is_deleted() -> None:
    api = source()
    invalid = api.listed([data(pod(spec=7)), b"nonsense", data(pod("b", "y"))])
    assert [each.uid for each in invalid] == ["u"]
    assert [each.uid for each in api.candidates] == ["b"]
    api.listed([])
    assert api.errors() == []


def test_the_oldest_pods_come_first() -> None:
    api = source()
    ages = {"a": "2026-03-01T00:00:00Z", "b": "2026-01-01T00:00:00Z", "c": "2026-02-01T00:00:00Z"}
    api.listed([data(pod(uid, uid, meta={"creationTimestamp": when})) for uid, when in ages.items()])
    assert [each.uid for each in api.candidates] == ["b", "c", "a"]


def test_a_part_of_a_list_removes_nothing_and_the_last_one_what_no_part_had() -> None:
    api = source()
    api.update("old", data(pod("old", "old")))
    api.listed([data(pod("a", "a"))], more=True)
    found = [(api.synced, {each.uid for each in api.candidates})]
    api.listed([data(pod("b", "b"))], ["a"])
    found.append((api.synced, {each.uid for each in api.candidates}))
    assert found == [(False, {"old", "a"}), (True, {"a", "b"})]
