"""Which pod of the node is which object of the API server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.status_manager.messages import PodObserved
from actors.status_manager.pods.api_pods import ApiPod, read
from actors.status_manager.pods.mirror import mirror_pod
from actors.status_manager.pods.pod_table import PodTable
from actors.status_manager.pods.tracked_pod import tracked

SOURCE, HASH = "kubernetes.io/config.source", "kubernetes.io/config.hash"


def body(uid: str, name: str = "p", *, static: bool = False, version: str = "1") -> dict[str, Any]:
    notes = {SOURCE: "file", HASH: f"hash-{uid}"} if static else {}
    metadata = {"name": name, "namespace": "n", "uid": uid, "annotations": notes, "resourceVersion": version}
    return {"metadata": metadata, "spec": {"containers": [{"name": "a", "image": "i"}]}}


def track(table: PodTable, uid: str, name: str = "p", *, static: bool = False, **seen: Any) -> None:
    data = json.dumps(body(uid, name, static=static)).encode()
    table.put(tracked(PodObserved(uid, data, seen.pop("phase", "running"), **seen), 0.0))


def api_pod(given: dict[str, Any]) -> ApiPod:
    found = read(json.dumps(given).encode())
    assert found is not None
    return found


def mirror_of(uid: str, own: str, name: str = "p", phase: str = "Running") -> ApiPod:
    made = json.loads(mirror_pod(json.dumps(body(uid, name, static=True)).encode(), "node", "node-uid"))
    made["metadata"] |= {"uid": own, "resourceVersion": "1"}
    return api_pod({**made, "status": {"phase": phase}})


def test_a_mirror_concerns_the_static_pods_of_its_name_and_no_other_pod() -> None:
    table = PodTable()
    track(table, "s1", static=True)
    track(table, "s2", static=True)
    track(table, "other", "q", static=True)
    track(table, "plain")
    mirror = mirror_of("s1", "m")
    table.api.put(mirror)
    assert sorted(one.uid for one in table.statics("p_n")) == ["s1", "s2"]
    assert sorted(table.keys(mirror)) == ["m", "s1", "s2"]
    assert table.keys(api_pod(body("plain"))) == ["plain"]
    found = table.tracked_of(mirror)
    assert found is not None
    assert found.uid == "s1", "the mirror is of this version"


def test_a_static_pod_has_the_status_of_its_mirror_and_another_pod_its_own() -> None:
    table = PodTable()
    track(table, "s1", static=True)
    track(table, "plain", "q")
    static, plain = table.get("s1"), table.get("plain")
    assert static is not None
    assert plain is not None
    assert table.api_pod(static) is table.api_pod(plain) is None
    own, mirror = api_pod(body("plain", "q")), mirror_of("s1", "m")
    table.api.put(own)
    table.api.put(mirror)
    assert (table.api_pod(static), table.api_pod(plain)) == (mirror, own)


@pytest.mark.parametrize(
    ("phase", "worker", "of_it"),
    [("Running", "running", True), ("Failed", "terminated", True), ("Failed", "running", False)],
)
def test_a_static_pod_that_runs_again_needs_a_new_mirror(phase: str, worker: str, of_it: bool) -> None:
    table = PodTable()
    track(table, "s1", static=True, phase=worker)
    table.api.put(mirror_of("s1", "m", phase=phase))
    static = table.get("s1")
    assert static is not None
    assert (table.api_pod(static) is not None) is of_it


def test_a_pod_is_found_by_its_uid_that_of_its_mirror_or_its_name() -> None:
    table = PodTable()
    track(table, "s1", static=True, removed=True)
    track(table, "s2", static=True)
    track(table, "plain", "q")
    table.api.put(mirror_of("s1", "m"))

    def uid_of(uid: str, name: str = "") -> str:
        found = table.find(uid, "n", name)
        return found.uid if found is not None else ""

    assert [uid_of("s1"), uid_of("m"), uid_of("plain", "p")] == ["s1", "s2", "plain"]
    assert [uid_of("", "p"), uid_of("", "q"), uid_of("", "r"), uid_of("unknown"), uid_of("unknown", "q")] == [
        "s2", "plain", "", "", "plain",
    ]  # fmt: skip


def test_a_mirror_that_has_no_static_pod_in_two_checks_is_an_orphan() -> None:
    table = PodTable()
    track(table, "s1", static=True)
    mirror, alone, plain = mirror_of("s1", "m"), mirror_of("gone", "a", "q"), api_pod(body("plain"))
    for one in (mirror, alone, plain):
        table.api.put(one)
    table.find_orphans()
    assert table.orphans() == frozenset()
    table.find_orphans()
    assert table.orphans() == {"a"}
    assert [table.is_orphan(one) for one in (mirror, alone, plain)] == [False, True, False]
    track(table, "back", "q", static=True)
    assert not table.is_orphan(alone), "its static pod has come"
    table.forget("back")
    table.api.drop("a")
    table.find_orphans()
    assert table.orphans() == frozenset()


def test_a_deletion_is_accepted_for_the_version_that_the_server_still_has() -> None:
    table = PodTable()
    first, second = api_pod(body("u")), api_pod(body("u", version="2"))
    table.accept_deletion(first, None)
    assert not table.deletion_accepted(first)
    table.accept_deletion(first, second)
    assert (table.deletion_accepted(first), table.deletion_accepted(second)) == (False, True)
    table.forget_deletions()
    assert not table.deletion_accepted(second)
    mirror = mirror_of("s1", "m")
    table.api.put(mirror)
    table.accept_deletion(mirror, mirror)
    assert table.api.get("m") is None, "its name is free at once"
    assert not table.deletion_accepted(mirror)
