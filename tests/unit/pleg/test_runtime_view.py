"""What is known of the runtime's pods, through any order of relists, answers and failures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.pleg.events import ListedContainer
from actors.pleg.runtime_view import RuntimeView, answered, completed, failed, of_uids, relisted
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox

UIDS = ("u", "v", "w")
STATES = (CriContainerState.RUNNING, CriContainerState.EXITED)


def listing(pods: dict[str, CriContainerState]) -> dict[str, ListedContainer]:
    return {f"box-{uid}": ListedContainer(uid, state) for uid, state in pods.items()}


def runtime_of(uid: str, there: bool = True) -> PodRuntime:
    box = Sandbox(id=f"box-{uid}", pod_uid=uid, pod_name="p", pod_namespace="n")
    return PodRuntime(uid=uid, sandboxes=[box] if there else [])


def test_a_pod_whose_status_call_failed_is_queried_with_each_relist():
    running = listing({"u": CriContainerState.RUNNING})
    first = relisted(RuntimeView(), running)
    assert first.changed == {"u"}
    known = answered(first.view, runtime_of("u"))
    assert relisted(known, running).changed == frozenset()
    assert relisted(failed(known, "u"), running).changed == {"u"}


def test_a_pod_whose_status_call_failed_is_reported_gone_once():
    view = failed(relisted(RuntimeView(), listing({"u": CriContainerState.RUNNING})).view, "u")
    relist = relisted(view, {})
    assert relist.gone == {"u"}
    assert relist.view.uids == frozenset()
    assert relisted(relist.view, {}).gone == frozenset()


looks = st.dictionaries(st.sampled_from(UIDS), st.sampled_from(STATES))
hidden = st.frozensets(st.sampled_from(UIDS))
steps = st.lists(st.tuples(looks, hidden, st.lists(st.tuples(st.sampled_from(UIDS), st.booleans()))), max_size=8)


@given(steps)
def test_despite_failures_and_wrong_lists_each_pod_is_known_or_queried_and_each_missing_one_is_reported(history):
    view = RuntimeView()
    told: set[str] = set()
    for number, (pods, unlisted, outcomes) in enumerate(history):
        listed, before = set(pods) - unlisted, set(view.pods)
        relist = relisted(view, listing({uid: state for uid, state in pods.items() if uid in listed}))
        view = completed(relist.view, number + 1.0)
        told = (told | listed) - relist.gone
        assert not relist.gone & before, "a list alone ends no pod whose status was known"
        assert relist.changed <= listed | before, "only what is listed or was known can be asked for"
        assert told == listed | before, "what was there and is not has been told as gone"
        assert listed <= relist.changed | set(view.pods), "unknown ones are asked for"
        assert before - listed <= relist.changed, "so are those that are not listed any more"
        for uid in relist.changed:
            if not dict(outcomes).get(uid, True):
                view = failed(view, uid)
                continue
            view = answered(view, runtime_of(uid, there=uid in pods))
            told -= set() if uid in pods else {uid}
        known, unread = of_uids(view, frozenset(UIDS))
        assert {pod.uid for pod in known} | set(unread) == told
        assert view.failed <= told


def test_a_pod_that_is_not_listed_is_asked_for_with_each_relist_until_its_status_agrees():
    view = answered(relisted(RuntimeView(), listing({"u": CriContainerState.RUNNING})).view, runtime_of("u"))
    for _ in range(2):
        relist = relisted(view, {})
        assert relist.changed == {"u"}
        assert not relist.gone
        view = answered(relist.view, runtime_of("u"))
        assert list(view.pods) == ["u"]
    view = answered(relisted(view, {}).view, runtime_of("u", there=False))
    assert not view.pods
    assert not view.uids
    assert relisted(view, {}).changed == frozenset()


def test_an_empty_answer_removes_the_pod():
    view = answered(relisted(RuntimeView(), listing({"u": CriContainerState.EXITED})).view, runtime_of("u"))
    assert list(view.pods) == ["u"]
    assert list(answered(view, runtime_of("u", there=False)).pods) == []


def test_a_pod_with_only_containers_left_is_in_the_inventory():
    view = relisted(RuntimeView(), listing({"u": CriContainerState.RUNNING})).view
    left = PodRuntime(uid="u", containers=[CriContainer(id="c", name="a", pod_uid="u", state=CriContainerState.EXITED)])
    assert answered(view, left).pods == {"u": left}


def test_a_status_call_that_failed_before_the_first_relist_is_remembered():
    assert failed(RuntimeView(), "u").failed == {"u"}
