"""What a pod worker is told of its pod, by sources that may be late."""

from __future__ import annotations

import msgspec

from actors.pod_workers.pod.orders import PodRemoved, PodWanted
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.state import PodState
from actors.shared.kube.codec import encode
from actors.shared.kube.pod import Pod


def wanted(**metadata: object) -> PodWanted:
    meta = {"name": "p", "namespace": "d", "uid": "u", **metadata}
    pod = msgspec.convert({"metadata": meta, "spec": {"containers": [{"name": "a", "image": "i"}]}}, Pod)
    return PodWanted(pod, encode(pod))


def deleted(grace: int) -> PodWanted:
    return wanted(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=grace)


def runs(order: PodWanted) -> PodState:
    return order.apply(PodState(uid="u", phase=PodWorkerPhase.RUNNING))


def test_an_older_version_of_a_pod_does_not_undo_its_deletion() -> None:
    state = runs(deleted(30))
    assert wanted(labels={"late": "yes"}).apply(state) is state
    assert wanted().apply(state).wanted.deleted


def test_a_later_deletion_sets_its_own_grace_period() -> None:
    pod = deleted(1).apply(runs(deleted(30))).wanted.pod
    assert pod is not None
    assert pod.metadata.deletionGracePeriodSeconds == 1


def test_a_pod_that_was_removed_while_it_was_deleted_and_returns_starts_again_after_its_end() -> None:
    returned = wanted()
    state = returned.apply(PodRemoved().apply(runs(deleted(30))))
    assert state.wanted.again == returned.data
