"""Which pods count, and what the workers are told of a change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.pod_config.merge import Candidate, choose, operations

pods = st.builds(
    Candidate,
    uid=st.sampled_from("abcde"),
    full_name=st.sampled_from(["x_n", "y_n", "z_n"]),
    place=st.sampled_from(["/1", "/2", "/3"]),
    data=st.sampled_from([b"1", b"2"]),
)
sources = st.lists(st.lists(pods, max_size=5), min_size=1, max_size=3)


def test_a_copy_of_a_manifest_never_replaces_the_pod_that_is_there():
    old = Candidate("u1", "web_default", "/m/web.yaml", b"")
    copy = Candidate("u0", "web_default", "/m/a-copy.yaml", b"")
    first = choose([[old]], {})
    second = choose([[copy, old]], first.pods)
    assert second.pods == {"u1": old}
    assert second.errors == ["/m/a-copy.yaml: pod web_default is also in /m/web.yaml, which stays"]


def test_an_edited_file_is_a_removal_then_a_new_pod():
    before = {"u1": Candidate("u1", "web_default", "/w", b"1")}
    now = choose([[Candidate("u2", "web_default", "/w", b"2")]], before).pods
    assert [(op.op, op.uid) for op in operations(before, now)] == [("remove", "u1"), ("set", "u2")]


def test_the_same_name_in_two_sources_is_two_pods():
    file, api = Candidate("u1", "x_n", "/w", b""), Candidate("u2", "x_n", "api", b"")
    assert set(choose([[file], [], [api]], {}).pods) == {"u1", "u2"}


@given(sources, sources)
def test_each_name_of_a_source_and_each_uid_is_taken_once_and_the_operations_lead_there(first, second):
    before = choose(first, {})
    after = choose(second, before.pods)
    for uid, pod in after.pods.items():
        assert uid == pod.uid
        assert any(pod in source for source in second)
    offered = {(pod.uid, pod.full_name) for source in second for pod in source}
    refused = offered - {(pod.uid, pod.full_name) for pod in after.pods.values()}
    assert bool(after.errors) >= bool(refused)
    state = {uid: pod.data for uid, pod in before.pods.items()}
    for op in operations(before.pods, after.pods):
        if op.op == "remove":
            del state[op.uid]
        else:
            state[op.uid] = op.pod
    assert state == {uid: pod.data for uid, pod in after.pods.items()}


@given(sources)
def test_choosing_again_changes_nothing(offered):
    first = choose(offered, {})
    assert choose(offered, first.pods).pods == first.pods
