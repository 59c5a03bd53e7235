"""The next instance of one container: when it starts, and which crashes count for it."""

from __future__ import annotations

import msgspec

from actors.pod_workers.phases.actions import ContainerBackoff, Start
from actors.pod_workers.phases.next_start import END_UNSEEN, HASH, NextStarts
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container
from tests.support.pod_states import NOW, ran, runtime

CONTAINER = Container(name="a", image="i")


def crashed(count: int, **changes: object) -> CriContainer:
    """It ended five seconds ago."""
    return msgspec.structs.replace(ran(state=CriContainerState.EXITED, count=count, exit_code=1), **changes)


def next_of(
    *containers: CriContainer, empty: bool = False, restarting: tuple[str, ...] = ()
) -> Start | ContainerBackoff:
    starts = NextStarts(runtime(*containers), empty, frozenset(restarting), NOW, 300.0)
    return starts.of(CONTAINER)


def test_a_container_that_never_ran_starts_at_once():
    assert next_of() == Start(CONTAINER, 0)


def test_a_container_that_crashed_repeatedly_waits_from_its_last_end():
    last = crashed(2)
    assert next_of(last) == ContainerBackoff("a", NOW - 5 + 20, last)


def test_a_container_that_ended_unseen_with_its_sandbox_does_not_wait():
    lost = crashed(2, reason=END_UNSEEN)
    assert isinstance(next_of(lost), ContainerBackoff), "in its own sandbox it counts as crashed"
    assert next_of(lost, empty=True) == Start(CONTAINER, 3, 3)


def test_a_container_with_another_image_does_not_wait_and_has_no_crashes_before():
    assert next_of(crashed(2, annotations={HASH: "of another image"})) == Start(CONTAINER, 3, 1)


def test_a_first_kill_for_a_restart_counts_as_no_crash():
    killed = crashed(0)
    assert next_of(killed) == Start(CONTAINER, 1, 1)
    assert next_of(killed, restarting=(killed.id,)) == Start(CONTAINER, 1, 0)
