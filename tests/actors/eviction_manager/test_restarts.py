"""An eviction manager that dies evicts the same pod, once."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from actors.api_clients.event_client.instance_events import InstanceEvents
from actors.api_clients.event_client.messages import RecordEvent, TakeEvent
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, NodePressure
from actors.container_manager.messages import NodeEvictions
from actors.pod_workers.messages import KillPod
from actors.shared.repeated_save import RETRY_SECONDS
from supervision.actor import Actor, AskError
from supervision.message import Message
from supervision.process_messages import Hello
from supervision.state_file import StateFile

from .made_up_node import MadeUpNode, killed, told


class Died(BaseException):
    """The process has died."""


def events(messages: Sequence[Message]) -> list[RecordEvent]:
    return [one.event for one in messages if isinstance(one, TakeEvent)]


@pytest.mark.parametrize("step", range(12))
async def test_a_manager_killed_at_any_step_of_an_eviction_evicts_the_same_pod_once(
    node: MadeUpNode, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The manager dies at a step that is visible from outside: a write to the file, a message, a question or its
    answer. The event client, which lives on, has the event once."""
    node.add("first", memory_kib=700)
    node.add("second", memory_kib=690)
    node.set_free(50)
    left, seen = [step], list[Message]()

    def dies() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Died

    tell, ask, save = Actor.tell, Actor.ask, StateFile.save

    def tell_or_die(self: Actor, name: object, message: Message, **options: object) -> None:
        if isinstance(message, (KillPod, RecordEvent, NodeEvictions)):
            dies()
            seen.append(message)
        tell(self, name, message, **options)  # type: ignore[arg-type]

    async def ask_or_die(self: Actor, name: object, question: object, **options: object) -> object:
        if isinstance(question, TakeEvent):
            dies()
            seen.append(question)
            dies()
        return await ask(self, name, question, **options)  # type: ignore[arg-type]

    def save_or_die(self: StateFile[object], value: object) -> None:
        dies()
        save(self, value)

    monkeypatch.setattr(Actor, "tell", tell_or_die)
    monkeypatch.setattr(Actor, "ask", ask_or_die)
    monkeypatch.setattr(StateFile, "save", save_or_die)
    dead = node.start()
    try:
        async with dead:
            await dead.settle()
    except Died:
        pass
    left[0] = 10**9
    # what ranks first has changed meanwhile: still the pod that was chosen is the one
    chosen = [one.uid for one in seen if isinstance(one, KillPod)]
    kept = Path(node.root / "run/evictions")
    if kept.exists() and b"first" in kept.read_bytes():
        node.use("second", 900)
    async with node.start(incarnation=2) as manager:
        await manager.advance(12.0)
        assert {*chosen, *killed(manager)} == {"first"}
        node.set_free(500)
        node.stop("first")
        await manager.advance(30.0)
        assert killed(manager) == ["first"]
    assert {(one.uid, one.instance, one.reason) for one in events(seen)} == {("first", "first", "Evicted")}
    known = InstanceEvents()
    assert sum(map(known.is_new, events(seen))) == 1


async def test_the_event_of_an_eviction_is_told_until_the_event_client_has_it(node: MadeUpNode) -> None:
    node.add("victim", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        manager.answer(TakeEvent, AskError("no answer"))
        await manager.advance(5.0)
        node.set_free(900)
        node.stop("victim")
        await manager.advance(5.0)
        assert len(told(manager)) > 1
        assert b"victim" in (node.root / "run/evictions").read_bytes()  # for the next incarnation
    async with node.start(incarnation=2) as manager:
        await manager.advance(3.0)
        assert [one.uid for one in told(manager)] == ["victim"]
        assert killed(manager) == ["victim"]
        assert manager.sent(NodeEvictions)[-1].ending == []


async def test_evictions_in_progress_are_reported_before_the_first_observation(node: MadeUpNode) -> None:
    node.add("victim", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        await manager.settle()
    node.set_free(900)
    async with node.start(incarnation=2) as manager:
        assert manager.sent(NodeEvictions)[0] == NodeEvictions(["MemoryPressure"], ["victim"])
        assert killed(manager) == ["victim"]
        await manager.deliver(Hello(HEARTBEAT_CLIENT, 2))
        assert manager.sent(NodePressure)[0] == NodePressure(memory=True)
        assert told(manager) == []


async def test_a_pods_end_is_ordered_until_its_status_is_written(node: MadeUpNode) -> None:
    node.add("victim", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        await manager.settle()
        node.set_free(900)
        node.stop("victim", written=False)
        await manager.advance(5.0)
        orders = len(manager.sent(KillPod))
        await manager.advance(60.0)
        assert len(manager.sent(KillPod)) == orders  # nothing of it is left
        assert manager.sent(NodeEvictions)[-1].ending == ["victim"]
        node.stop("victim")
        await manager.advance(2.0)
        assert manager.sent(NodeEvictions)[-1].ending == []


async def test_the_eviction_of_a_removed_pod_is_forgotten_once_all_pods_are_listed(node: MadeUpNode) -> None:
    node.add("victim", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        await manager.settle()
        node.live.clear()
        node.pods.clear()
        node.listed = False
        await manager.advance(5.0)
        assert manager.sent(NodeEvictions)[-1].ending == ["victim"]
        node.listed = True
        await manager.advance(2.0)
        assert manager.sent(NodeEvictions)[-1].ending == []


async def test_conditions_survive_a_restart_unless_the_thresholds_changed(
    node: MadeUpNode,
) -> None:
    node.set_free(50)
    async with node.start() as manager:
        await manager.settle()
    node.set_free(900)
    async with node.start(incarnation=2) as manager:
        await manager.advance(60.0)
        assert manager.sent(NodePressure) == []  # nothing has changed
        assert manager.sent(NodeEvictions)[-1].conditions == ["MemoryPressure"]
    async with node.start(incarnation=3, evictionHard={"memory.available": "90Ki"}) as manager:
        await manager.settle()
        assert manager.sent(NodeEvictions)[-1].conditions == []


async def test_a_damaged_file_is_set_aside(node: MadeUpNode) -> None:
    run = node.root / "run"
    run.mkdir()
    (run / "evictions").write_text("rubbish")
    node.add("victim", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        await manager.settle()
        assert killed(manager) == ["victim"]
    assert (run / "evictions.damaged").exists()


async def test_an_eviction_that_a_full_disk_did_not_take_is_written_once_it_has_room(
    node: MadeUpNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    node.add("victim", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        with monkeypatch.context() as patch:
            patch.setattr(StateFile, "save", fail)
            await manager.settle()
            assert killed(manager) == ["victim"]
        await manager.advance(RETRY_SECONDS)
    assert b'"victim"' in (node.root / "run" / "evictions").read_bytes()
