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
steps = st.lists(st.tuples(looks, st.lists(st.tuples(st.sampled_from(UIDS), st.booleans()))), max_size=8)


@given(steps)
def test_despite_failures_each_present_pod_is_known_or_queried_and_each_missing_one_is_reported(history):
    view = RuntimeView()
    told: set[str] = set()
    for number, (pods, outcomes) in enumerate(history):
        relist = relisted(view, listing(pods))
        view = completed(relist.view, number + 1.0)
        told = (told | set(pods)) - relist.gone
        assert relist.changed <= set(pods), "only what is there can be asked for"
        assert told == set(pods), "what was there and is not has been told as gone"
        assert set(pods) <= relist.changed | set(view.pods), "unknown ones are asked for"
        for uid in relist.changed:
            ok = dict(outcomes).get(uid, True)
            view = answered(view, runtime_of(uid)) if ok else failed(view, uid)
        known, unread = of_uids(view, frozenset(UIDS))
        assert {pod.uid for pod in known} | set(unread) == set(pods)
        assert view.failed <= set(pods)


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
