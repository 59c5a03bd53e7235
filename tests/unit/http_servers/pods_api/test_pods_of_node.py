"""The pods that the pods API serves, and what their changes are to a watch."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.pods_api.pods_of_node import PodsOfNode, WatchedChange


def made(uid: str, version: int = 0) -> bytes:
    return json.dumps({"metadata": {"name": f"n-{uid}", "namespace": "d", "uid": uid}, "spec": {"v": version}}).encode()


def test_a_pod_is_added_modified_when_it_differs_and_deleted_by_its_name_alone() -> None:
    pods = PodsOfNode()
    assert pods.put("u", made("u")) == WatchedChange("ADDED", made("u"))
    assert pods.put("u", made("u")) is None
    assert pods.put("u", made("u", 1)) == WatchedChange("MODIFIED", made("u", 1))
    event = pods.put("u", b"")
    assert event is not None
    assert (event.kind, json.loads(event.pod)) == (
        "DELETED", {"metadata": {"name": "n-u", "namespace": "d", "uid": "u"}}
    )  # fmt: skip
    assert pods.put("u", b"") is None


def test_pods_that_no_worker_lists_are_gone_and_the_others_stay() -> None:
    pods = PodsOfNode()
    for uid in ("b", "a", "c"):
        pods.put(uid, made(uid))
    before = pods.complete
    assert [event.kind for event in pods.listed(["b", "not told yet"])] == ["DELETED", "DELETED"]
    assert (before, pods.complete) == (False, True)
    assert (pods.all(), pods.get("b"), pods.get("a")) == ([made("b")], made("b"), None)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(0, 2)),
        st.tuples(st.just("gone"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("listed"), st.sampled_from(["", "a", "ab", "abc"]), st.just(0)),
    ),
    max_size=30,
)


@given(CHANGES)
def test_a_follower_of_the_events_has_the_same_pods(changes: list[tuple[str, str, int]]) -> None:
    pods, followed = PodsOfNode(), dict[str, bytes]()
    for kind, which, version in changes:
        if kind == "listed":
            events = pods.listed(list(which))
        else:
            event = pods.put(which, made(which, version) if kind == "put" else b"")
            events = [event] if event is not None else []
        for one in events:
            uid = json.loads(one.pod)["metadata"]["uid"]
            assert (uid in followed) == (one.kind != "ADDED")
            if one.kind == "DELETED":
                del followed[uid]
            else:
                assert followed.get(uid) != one.pod
                followed[uid] = one.pod
        assert pods.all() == [followed[uid] for uid in sorted(followed)]
