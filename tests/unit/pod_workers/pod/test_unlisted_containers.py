"""What runs of a pod though the runtime does not list it."""

from __future__ import annotations

from actors.pod_workers.pod.unlisted_containers import (
    NOTHING,
    UnlistedContainers,
    find_unlisted,
    needs_process_check,
    shown,
)
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox

BOX = Sandbox(id="s", pod_uid="u", pod_name="p", pod_namespace="default", ready=True, ips=["10.0.0.1"])
RUNS = CriContainer(id="c", name="a", pod_uid="u", sandbox_id="s", state=CriContainerState.RUNNING)
ENDED = CriContainer(id="d", name="b", pod_uid="u", sandbox_id="s", state=CriContainerState.EXITED)
WHOLE = PodRuntime(uid="u", sandboxes=[BOX], containers=[RUNS, ENDED])
EMPTY = PodRuntime(uid="u")
DENIED = UnlistedContainers(frozenset({"c"}), (BOX,), (RUNS,))


def test_processes_are_looked_for_when_something_that_ran_is_not_listed_any_more() -> None:
    assert needs_process_check(EMPTY, WHOLE, NOTHING)
    assert needs_process_check(PodRuntime(uid="u", containers=[RUNS, ENDED]), WHOLE, NOTHING), "the sandbox is missing"
    assert not needs_process_check(WHOLE, WHOLE, NOTHING)
    assert not needs_process_check(PodRuntime(uid="u", sandboxes=[BOX], containers=[RUNS]), WHOLE, NOTHING), (
        "it had ended"
    )
    assert not needs_process_check(EMPTY, EMPTY, NOTHING), "a pod that waits to be started costs nothing"


def test_processes_are_searched_at_the_first_empty_status_and_while_containers_are_unlisted() -> None:
    assert needs_process_check(EMPTY, None, NOTHING)
    assert needs_process_check(PodRuntime(uid="u", containers=[ENDED]), None, NOTHING)
    assert not needs_process_check(WHOLE, None, NOTHING)
    assert needs_process_check(WHOLE, None, NOTHING, lost=True)
    assert needs_process_check(EMPTY, EMPTY, DENIED)
    assert needs_process_check(WHOLE, EMPTY, DENIED)


def test_an_unlisted_container_with_processes_is_kept() -> None:
    assert find_unlisted(EMPTY, WHOLE, NOTHING, {"c"}, {"s"}) == DENIED
    assert find_unlisted(EMPTY, EMPTY, DENIED, {"c"}, {"s"}) == DENIED, "looks may be many"
    assert find_unlisted(EMPTY, WHOLE, NOTHING, {"c"}, set()) == UnlistedContainers(frozenset({"c"}), (), (RUNS,))


def test_an_unlisted_container_without_a_process_is_lost() -> None:
    assert find_unlisted(EMPTY, EMPTY, DENIED, set(), set()) == NOTHING
    assert find_unlisted(EMPTY, WHOLE, NOTHING, set(), set()) == NOTHING


def test_a_container_that_is_listed_again_is_not_unlisted() -> None:
    assert find_unlisted(WHOLE, EMPTY, DENIED, {"c"}, {"s"}) == NOTHING


def test_a_container_program_called_pause_is_found_like_others() -> None:
    assert find_unlisted(EMPTY, WHOLE, NOTHING, set(), {"c", "s"}) == DENIED


def test_a_sandbox_whose_program_is_not_called_pause_is_no_unseen_container() -> None:
    found = find_unlisted(EMPTY, WHOLE, NOTHING, {"c", "s"}, set())
    assert found == DENIED
    assert not found.unseen


def test_only_the_id_of_a_never_seen_container_is_known() -> None:
    found = find_unlisted(EMPTY, None, NOTHING, {"c"}, {"s"})
    assert found == UnlistedContainers(frozenset({"c"}))
    assert found.unseen
    assert not DENIED.unseen


def test_the_pod_is_shown_whole_and_what_is_listed_counts() -> None:
    assert shown(EMPTY, DENIED) == PodRuntime(
        uid="u", name="p", namespace="default", sandboxes=[BOX], containers=[RUNS]
    )
    assert shown(PodRuntime(uid="u", containers=[ENDED]), DENIED).containers == [ENDED, RUNS]
    listed = PodRuntime(uid="u", sandboxes=[BOX], containers=[CriContainer(id="c", name="a", pod_uid="u")])
    assert shown(listed, DENIED).containers == listed.containers
    assert shown(WHOLE, NOTHING) is WHOLE
