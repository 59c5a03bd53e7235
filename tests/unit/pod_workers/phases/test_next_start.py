"""The next instance of one container: when it starts, and which crashes count for it."""

from __future__ import annotations

import msgspec

from actors.pod_workers.phases.actions import ContainerBackoff, Start
from actors.pod_workers.phases.next_start import END_UNSEEN, NextStarts
from actors.shared.cri.model import START_ERROR, CriContainer, CriContainerState
from actors.shared.kube.container import Container
from actors.shared.kube.names import CONTAINER_HASH
from tests.support.pod_states import NOW, ran, runtime

CONTAINER = Container(name="a", image="i")


def crashed(count: int, **changes: object) -> CriContainer:
    """It ended five seconds ago."""
    return msgspec.structs.replace(ran(state=CriContainerState.EXITED, count=count, exit_code=1), **changes)


def next_of(
    *containers: CriContainer, sandbox: str = "s0", empty: bool = False, restarting: tuple[str, ...] = ()
) -> Start | ContainerBackoff:
    starts = NextStarts(runtime(*containers), sandbox, empty, frozenset(restarting), NOW, 300.0)
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


def test_a_first_restart_that_failed_in_a_sandbox_that_was_being_stopped_does_not_wait_in_the_next_one():
    def failed(count: int) -> CriContainer:
        return crashed(count, reason=START_ERROR, exit_code=128)

    assert next_of(failed(1), sandbox="s1") == Start(CONTAINER, 2, 2)
    assert isinstance(next_of(failed(1)), ContainerBackoff), "its sandbox is still there"
    assert isinstance(next_of(failed(2), sandbox="s1"), ContainerBackoff), "it fails each time"
    assert isinstance(next_of(crashed(1), sandbox="s1"), ContainerBackoff), "it had started"


def test_a_container_with_another_image_does_not_wait_and_has_no_crashes_before():
    assert next_of(crashed(2, annotations={CONTAINER_HASH: "of another image"})) == Start(CONTAINER, 3, 1)


def test_a_first_kill_for_a_restart_counts_as_no_crash():
    killed = crashed(0)
    assert next_of(killed) == Start(CONTAINER, 1, 1)
    assert next_of(killed, restarting=(killed.id,)) == Start(CONTAINER, 1, 0)


def test_a_start_that_was_given_up_counts_not_at_all():
    given_up = crashed(2, reason=START_ERROR, exit_code=128, message="context canceled: unknown")
    assert next_of(given_up) == Start(CONTAINER, 2, 2)


def test_a_later_kill_for_a_restart_waits_from_the_end_of_the_instance_before():
    def ended(count: int, ago: float) -> CriContainer:
        return crashed(count, finished_ns=round((NOW - ago) * 1e9))

    killed = ended(1, 1)
    assert next_of(killed, ended(0, 30), restarting=(killed.id,)) == Start(CONTAINER, 2, 2), "its backoff was over"
    assert isinstance(next_of(killed, ended(0, 5), restarting=(killed.id,)), ContainerBackoff)
    assert isinstance(next_of(killed, ended(0, 30)), ContainerBackoff), "it has crashed"
    runs = msgspec.structs.replace(ran(count=0), finished_ns=round((NOW - 30) * 1e9))
    assert isinstance(next_of(killed, runs, restarting=(killed.id,)), ContainerBackoff), "no end before is known"
    elsewhere = msgspec.structs.replace(ended(0, 30), name="b")
    assert isinstance(next_of(killed, elsewhere, restarting=(killed.id,)), ContainerBackoff), "of another container"
