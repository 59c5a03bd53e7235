"""Which changes of the API server's pods concern those who run them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.pod_config.api_source import ApiSource, Unreadable


def pod(uid: str = "u", name: str = "web", **more: Any) -> dict[str, Any]:
    meta = {"uid": uid, "name": name, "namespace": "d", "resourceVersion": "1", **more.pop("meta", {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {}, **more}


def data(thing: Any) -> bytes:
    return json.dumps(thing).encode()


def source() -> ApiSource:
    return ApiSource(lambda uid, raw: raw)


def test_a_status_of_ours_does_not_concern_those_who_run_it() -> None:
    api = source()
    assert api.change("u", data(pod())) is True
    running = pod(meta={"resourceVersion": "2", "managedFields": [1]}, status={"phase": "Running", "podIP": "1"})
    assert api.change("u", data(running)) is False


@pytest.mark.parametrize(
    "changed",
    [
        pod(meta={"labels": {"a": "b"}}),
        pod(meta={"annotations": {"a": "b"}}),
        pod(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        pod(meta={"deletionGracePeriodSeconds": 3}),
        pod(spec={"containers": [{"name": "c", "image": "other"}]}),
        pod(status={"phase": "Failed"}),
        pod(status={"phase": "Succeeded"}),
    ],
)
def test_what_concerns_them_is_passed_on(changed: dict[str, Any]) -> None:
    api = source()
    api.change("u", data(pod()))
    assert api.change("u", data(changed)) is True
    assert api.candidates[0].data == data(changed)


def test_mirrors_are_not_run() -> None:
    api = source()
    mirror = pod(meta={"annotations": {"kubernetes.io/config.mirror": "hash"}})
    assert api.full([data(mirror)]) == []
    assert api.synced
    assert api.candidates == []
    assert api.change("u", data(mirror)) is False


def test_a_list_is_all_there_is() -> None:
    api = source()
    api.full([data(pod("a", "x")), data(pod("b", "y"))])
    api.full([data(pod("b", "y"))])
    assert [each.uid for each in api.candidates] == ["b"]
    assert api.change("b", b"") is True
    assert api.change("b", b"") is False


def test_fields_we_do_not_know_are_no_reason_to_refuse() -> None:
    api = source()
    strange = pod(spec={"containers": [{"name": "c", "image": "i", "future": {"x": 1}}], "volumes": None, "more": []})
    assert api.full([data(strange)]) == []
    assert json.loads(api.candidates[0].data)["spec"]["containers"][0]["future"] == {"x": 1}


def test_a_pod_that_cannot_be_read_is_said_once_and_stays_as_it_was() -> None:
    api = source()
    api.change("u", data(pod()))
    bad = data(pod(spec={"containers": "none"}))
    said = api.change("u", bad)
    assert isinstance(said, Unreadable)
    assert "web_d" in said.text
    assert "containers" in said.text
    assert api.change("u", bad) is False
    assert api.candidates[0].data == data(pod())
    assert api.errors() == [said.text]
    assert api.change("u", data(pod(meta={"labels": {"a": "b"}}))) is True
    assert api.errors() == []


def test_a_pod_beyond_sane_bounds_is_set_aside_by_name() -> None:
    api = source()
    many = [{"name": f"c{index}", "image": "i"} for index in range(20_000)]
    (said,) = api.full([data(pod(spec={"containers": many})), data(pod("b", "y"))])
    assert "pod web_d of the API server cannot be run" in said.text
    assert "20000 containers in all" in said.text
    assert [each.uid for each in api.candidates] == ["b"]


def test_one_that_never_could_be_read_is_forgotten_with_its_end() -> None:
    api = source()
    found = api.full([data(pod(spec=7)), b"nonsense", data(pod("b", "y"))])
    assert [each.uid for each in found] == ["u"]
    assert [each.uid for each in api.candidates] == ["b"]
    api.full([])
    assert api.errors() == []


def test_the_oldest_come_first() -> None:
    api = source()
    ages = {"a": "2026-03-01T00:00:00Z", "b": "2026-01-01T00:00:00Z", "c": "2026-02-01T00:00:00Z"}
    api.full([data(pod(uid, uid, meta={"creationTimestamp": when})) for uid, when in ages.items()])
    assert [each.uid for each in api.candidates] == ["b", "c", "a"]
