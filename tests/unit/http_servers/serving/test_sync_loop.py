"""The health check of the pod workers."""

from __future__ import annotations

import msgspec
import pytest

from actors.http_servers.serving.sync_loop import DOWN_SECONDS, STALE_SECONDS, SyncLoop
from actors.shared.cri.service_outage import IMAGE_SERVICE, RUNTIME
from supervision.protocol import ActorState, Tree, Trouble


def tree(**states: str) -> Tree:
    actors = [
        ActorState(name=f"pod_workers/worker/{name[1:]}", parent="pod_workers", kind="actor", state=state)  # type: ignore[arg-type]
        for name, state in states.items()
    ]
    return Tree(pid=1, uptime=1, state="ready", actors=actors)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_runtime_that_has_been_silent_for_long_fails_the_check_and_another_service_does_not():
    def silent(service: str, seconds: float) -> str:
        trouble = Trouble(service, "unix:///x.sock does not answer", seconds, "pleg")
        return SyncLoop(Clock()).failure(msgspec.structs.replace(tree(w0="running"), troubles=[trouble]))

    assert silent(RUNTIME, STALE_SECONDS) == ""
    assert silent(RUNTIME, STALE_SECONDS + DOWN_SECONDS + 1) == "not running: container runtime"
    assert silent(IMAGE_SERVICE, 10 * STALE_SECONDS) == ""


def test_a_worker_that_is_replaced_does_not_fail_the_check():
    clock = Clock()
    loop = SyncLoop(clock)
    for state in ("down", "starting", "running", "down"):
        assert loop.failure(tree(w0=state, w1="running")) == ""
        clock.now += STALE_SECONDS - 1


def test_a_worker_that_does_not_come_back_fails_the_check_until_it_does():
    clock = Clock()
    loop = SyncLoop(clock)
    assert loop.failure(tree(w0="down")) == ""
    clock.now += STALE_SECONDS + 1
    assert loop.failure(tree(w0="starting")) == "not running: pod_workers/worker/0"
    assert loop.failure(tree(w0="running")) == ""
    assert loop.failure(tree(w0="down")) == ""


@pytest.mark.parametrize("seen", [None, tree()])
def test_a_tree_that_cannot_be_seen_or_is_empty_fails_the_check_after_a_while_only(seen):
    clock = Clock()
    loop = SyncLoop(clock)
    assert loop.failure(seen) == ""
    clock.now += STALE_SECONDS + 1
    assert loop.failure(seen)


def test_a_worker_that_runs_but_has_been_silent_for_long_fails_the_check():
    silent = ActorState(
        name="pod_workers/worker/0",
        parent="pod_workers",
        kind="actor",
        state="running",
        heartbeat_age=STALE_SECONDS + 1,
    )
    assert SyncLoop().failure(Tree(pid=1, uptime=1, state="ready", actors=[silent]))
