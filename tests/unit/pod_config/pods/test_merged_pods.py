"""Which pods are chosen, and which operations the pod workers get."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.pod_config.pods.merged_pods import PodCandidate, choose, operations
from actors.pod_config.pods.name_conflict import NameConflicts

pods = st.builds(
    PodCandidate,
    uid=st.sampled_from("abcde"),
    full_name=st.sampled_from(["x_n", "y_n", "z_n"]),
    place=st.sampled_from(["/1", "/2", "/3"]),
    data=st.sampled_from([b"1", b"2"]),
)
sources = st.dictionaries(st.sampled_from(["file", "http", "api"]), st.lists(pods, max_size=5), min_size=1)


def test_a_copy_of_a_manifest_never_replaces_the_existing_pod():
    old = PodCandidate("u1", "web_default", "/m/web.yaml", b"")
    copy = PodCandidate("u0", "web_default", "/m/a-copy.yaml", b"")
    first = choose({"file": [old]}, {})
    second = choose({"file": [copy, old]}, first.pods)
    assert second.pods == {"u1": old}
    assert [str(one) for one in second.duplicates] == [
        "/m/a-copy.yaml: pod web_default is also in /m/web.yaml, which stays"
    ]
    assert second.duplicates[0].source == "file"
    assert second.name_conflicts == [copy]
    assert choose({"file": [old], "http": [old]}, first.pods).name_conflicts == [], "the same pod of another source"


def test_an_edited_file_removes_the_old_pod_and_then_sets_the_new_one():
    before = {"u1": PodCandidate("u1", "web_default", "/w", b"1")}
    now = choose({"file": [PodCandidate("u2", "web_default", "/w", b"2")]}, before).pods
    assert [(op.op, op.uid) for op in operations(before, now)] == [("remove", "u1"), ("set", "u2")]


def test_pods_with_one_name_in_two_sources_are_both_chosen():
    file, api = PodCandidate("u1", "x_n", "/w", b""), PodCandidate("u2", "x_n", "api", b"")
    assert set(choose({"file": [file], "http": [], "api": [api]}, {}).pods) == {"u1", "u2"}


@given(sources, sources)
def test_each_name_in_a_source_and_each_uid_is_chosen_once_and_the_operations_lead_there(first, second):
    before = choose(first, {})
    after = choose(second, before.pods)
    for uid, pod in after.pods.items():
        assert uid == pod.uid
        assert any(pod in source for source in second.values())
    offered = {(pod.uid, pod.full_name) for source in second.values() for pod in source}
    refused = offered - {(pod.uid, pod.full_name) for pod in after.pods.values()}
    assert bool(after.duplicates) >= bool(refused)
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


WORKER = "pod_workers/worker/0"


class Edits:
    """One manifest that is edited, and a worker that gets the operations."""

    def __init__(self) -> None:
        self.conflicts = NameConflicts()
        self.pods: dict[str, PodCandidate] = {}
        self.running: set[str] = set()
        self.ending: set[str] = set()

    def edit(self, uid: str | None) -> None:
        now = {} if uid is None else {uid: PodCandidate(uid, "web_n", "/w", uid.encode())}
        operations_sent = self.conflicts.pass_on(operations(self.pods, now), self.pods, now)
        self.pods = now
        self.hear(operations_sent)

    def hear(self, operations_sent) -> None:
        for op in operations_sent:
            if op.op == "set":
                assert self.ending <= {op.uid}, "the old pod has not ended"
                self.running.add(op.uid)
            else:
                self.running.remove(op.uid)
                self.ending.add(op.uid)
        if operations_sent:
            self.tell()

    def tell(self) -> None:
        self.hear(self.conflicts.inventory_reported(WORKER, self.running | self.ending))

    def end(self) -> None:
        self.ending.clear()
        self.tell()


def test_a_new_pod_starts_when_the_old_one_with_its_name_has_ended():
    edits = Edits()
    edits.edit("a")
    edits.edit("b")
    assert (edits.running, edits.ending, edits.conflicts.is_waiting("b")) == (set(), {"a"}, True)
    edits.edit("c")
    edits.end()
    assert edits.running == {"c"}
    assert not edits.conflicts.is_waiting("b")


@given(st.lists(st.sampled_from(["a", "b", "c", None, "end"]), max_size=30))
def test_after_any_edits_only_the_pod_of_the_last_one_runs(steps):
    edits = Edits()
    for step in steps:
        if step == "end":
            edits.end()
        else:
            edits.edit(step)
        assert len(edits.running) <= 1
    edits.end()
    assert edits.running == set(edits.pods)


def test_a_worker_that_never_reports_does_not_block_the_new_pod():
    conflicts = NameConflicts()
    old, new = PodCandidate("a", "web_n", "/w", b"a"), PodCandidate("b", "web_n", "/w", b"b")
    operations_sent = conflicts.pass_on(operations({"a": old}, {"b": new}), {"a": old}, {"b": new})
    assert [(op.op, op.uid) for op in operations_sent] == [("remove", "a"), ("set", "b")]
    conflicts.inventory_reported(WORKER, ["b"])
    assert [op.op for op in conflicts.pass_on(operations({"b": new}, {"a": old}), {"b": new}, {"a": old})] == ["remove"]
    assert [(op.op, op.uid) for op in conflicts.give_up("b")] == [("set", "a")]


def test_a_pod_that_has_not_changed_is_not_sent_again():
    before = {uid: PodCandidate(uid, f"{uid}_n", f"/{uid}", b"1") for uid in "ab"}
    now = {**before, "b": PodCandidate("b", "b_n", "/b", b"2")}
    assert [(op.op, op.uid) for op in operations(before, now)] == [("set", "b")]


def pod(uid, name="web_n"):
    return {uid: PodCandidate(uid, name, f"/{name}", uid.encode())}


def send(conflicts, before, now):
    return [(op.op, op.uid) for op in conflicts.pass_on(operations(before, now), before, now)]


def test_the_pods_that_begin_to_end_are_reported_once_and_only_those_that_a_worker_has():
    conflicts = NameConflicts()
    conflicts.inventory_reported(WORKER, ["a"])
    assert send(conflicts, {**pod("a"), **pod("z", "other_n")}, {}) == [("remove", "a"), ("remove", "z")]
    assert (conflicts.newly_ending(), conflicts.newly_ending()) == (["a"], [])


def test_a_pod_of_another_name_does_not_wait():
    conflicts = NameConflicts()
    conflicts.inventory_reported(WORKER, ["a"])
    assert send(conflicts, pod("a"), pod("b", "other_n")) == [("remove", "a"), ("set", "b")]


def test_a_pod_that_comes_back_while_it_ends_is_sent_at_once():
    conflicts = NameConflicts()
    conflicts.inventory_reported(WORKER, ["a"])
    assert send(conflicts, pod("a"), {}) == [("remove", "a")]
    assert send(conflicts, {}, pod("a")) == [("set", "a")]
    assert send(conflicts, {}, {**pod("b")}) == [("set", "b")]
