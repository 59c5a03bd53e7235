"""The shutdown manager with a real bus, a stand-in for logind on it, and neighbours that are faked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.heartbeat_client.messages import NodeProblem
from actors.container_manager.messages import CONTAINER_MANAGER
from actors.pod_workers.messages import KillPod, worker_of
from actors.shared.kube.times import micro_time
from actors.shutdown_manager.actor import (
    MESSAGE,
    NOT_READY,
    POLL_SECONDS,
    PRESUMED_SECONDS,
    STATUS_SECONDS,
)
from actors.shutdown_manager.logind import DROP_IN
from actors.shutdown_manager.messages import NodeShutdown
from actors.shutdown_manager.termination_order import REPEAT_SECONDS
from actors.status_manager.messages import GetLivePods, LivePods
from supervision.actor import AskError
from supervision.process_messages import Hello
from tests.support.shutdown_node import CRITICAL, NOW, SYSTEM, TOTAL, Node
from tests.support.system_bus import SystemBus, system_bus

pytestmark = pytest.mark.slow


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SystemBus]:
    with system_bus(tmp_path / "bus", delay=TOTAL) as found:
        yield found


@pytest.fixture
def node(tmp_path: Path, bus: SystemBus) -> Node:
    return Node(tmp_path, bus)


async def test_a_lock_is_held_that_delays_shutdowns_and_nothing_else(node: Node, bus: SystemBus) -> None:
    async with node.harness:
        await node.seen(bus, "lock")
        (lock,) = bus.seen("lock")
        assert (lock["what"], lock["who"], lock["mode"]) == ("shutdown", "kubelet", "delay")
        assert not bus.drop_in_dir.exists()
        assert node.harness.sent(NodeProblem) == [NodeProblem("shutdown", "")]
        assert node.harness.sent(NodeShutdown) == [NodeShutdown(active=False)]
        await node.harness.advance(REPEAT_SECONDS * 3)
        assert node.harness.asks == [], "without a shutdown no pod is asked for"


async def test_groups_end_in_order_then_the_machine_goes_down(node: Node, bus: SystemBus) -> None:
    node.put("web")
    node.put("dns", SYSTEM)
    async with node.harness:
        await node.begun(bus)
        assert node.harness.sent(NodeProblem, "api_clients/heartbeat_client")[-1] == NodeProblem("shutdown", NOT_READY)
        assert [(event.kind, event.reason) for event in node.harness.sent(RecordEvent)] == [("Node", "Shutdown")]
        (order,) = node.harness.sent(KillPod, worker_of("web", 2))
        assert (order.uid, order.reason, order.message, order.grace_seconds) == ("web", "Terminated", MESSAGE, 3)
        assert set(node.killed()) == {"web"}

        node.change("web", finished=True)
        await node.harness.advance(POLL_SECONDS)
        assert node.killed() == {"web": 3, "dns": 2}
        assert bus.locks == 1
        node.change("dns", finished=True)
        await node.harness.advance(POLL_SECONDS)
        await node.seen(bus, "down")
        assert not bus.seen("overdue")
        samples = node.harness.actor.metrics.snapshot("", 1).samples
        assert {sample.name: sample.value for sample in samples} == {
            "kubelet_graceful_shutdown_start_time_seconds": NOW,
            "kubelet_graceful_shutdown_end_time_seconds": NOW,
        }


@pytest.mark.parametrize(
    ("finished", "said", "late"),
    [
        (True, "the shutdown goes on, the pods have ended", []),
        (
            False,
            "the shutdown goes on, though not all pods have ended",
            ["pod web_default (web) has not ended in time", "pod listed has not ended in time"],
        ),
    ],
)
async def test_the_log_states_whether_all_pods_have_ended_and_names_those_that_have_not(
    node: Node, bus: SystemBus, caplog: pytest.LogCaptureFixture, finished: bool, said: str, late: list[str]
) -> None:
    caplog.set_level("INFO")
    node.put("web")
    node.put("listed")
    node.change("listed", full_name="")
    async with node.harness:
        await node.begun(bus)
        for uid in node.pods:
            node.change(uid, finished=finished)
        await node.harness.advance(TOTAL + 1)
        await node.seen(bus, "down")
    assert {"pod web_default (web) ends within 3 s", "pod listed ends within 3 s", said} <= set(caplog.messages)
    assert [line for line in caplog.messages if "has not ended in time" in line] == late


async def test_the_shutdown_waits_briefly_for_the_last_statuses(tmp_path: Path, bus: SystemBus) -> None:
    node = Node(tmp_path, bus, total=60)
    bus.drop_in_dir.mkdir()
    (bus.drop_in_dir / "50-ours.conf").write_text("InhibitDelayMaxSec=60\n")
    node.put("web")
    async with node.harness:
        await node.locked(bus)
        bus.tell("begin")
        await node.turned(active=True)
        node.change("web", finished=True, status_written=False)
        await node.harness.advance(STATUS_SECONDS - 0.5)
        assert bus.locks == 1
        await node.harness.advance(1.0)
        await node.seen(bus, "down")
        assert node.kept() == ["web"]


async def test_the_shutdown_does_not_wait_for_the_status_of_a_static_pod(node: Node, bus: SystemBus) -> None:
    node.put("apiserver", SYSTEM, static=True)
    async with node.harness:
        await node.begun(bus)
        assert set(node.killed()) == {"apiserver"}
        node.change("apiserver", finished=True, status_written=False)
        await node.harness.advance(2 * POLL_SECONDS)
        await node.seen(bus, "down")
        assert node.kept() == []


async def test_the_shutdown_is_recorded_before_any_pod_is_killed(node: Node, bus: SystemBus) -> None:
    node.put("web")
    node.put("static", static=True)
    node.pods["new"] = msgspec.structs.replace(node.pods["web"], uid="new", reported=False)
    async with node.harness:
        await node.begun(bus)
        assert set(node.killed()) == {"web", "static", "new"}
        assert node.kept() == ["web"]
        names = [type(message).__name__ for _, message in node.harness.outbox]
        told = [one for one in node.harness.sent(NodeShutdown) if one.ended == ["web"]]
        assert told
        assert names.index("KillPod") > [message for _, message in node.harness.outbox].index(told[0])


async def test_pods_ended_by_a_shutdown_are_reported_after_boot_until_the_api_server_has_it(
    node: Node, bus: SystemBus, tmp_path: Path
) -> None:
    node.put("web")
    node.put("static", static=True)
    async with node.harness:
        await node.begun(bus)
        for uid in node.pods:
            node.change(uid, finished=True, status_written=False)
        await node.harness.advance(TOTAL + 1)
    bus.tell("cancel")
    after = Node(tmp_path, bus)
    after.complete = False
    async with after.harness:
        told = await after.harness.wait_sent(NodeShutdown, timeout=20.0)
        assert told.ended == ["web"]  # a static pod starts again, as it should
        await after.harness.advance(REPEAT_SECONDS)
        assert after.kept() == ["web"]
        after.complete = True  # its worker knows it, and has told nothing of it yet
        after.put("web")
        after.change("web", reported=False, status_written=False)
        await after.harness.advance(REPEAT_SECONDS)
        assert after.kept() == ["web"]
        assert set(after.killed()) == {"web"}
        after.change("web", reported=True, finished=True, status_written=True)
        await after.harness.advance(REPEAT_SECONDS)
        assert after.harness.sent(NodeShutdown)[-1].ended == []
        assert after.kept() == []


async def test_a_pod_that_was_asked_for_before_a_shutdown_keeps_the_grace_and_the_record_of_it(
    node: Node, bus: SystemBus, tmp_path: Path
) -> None:
    node.put("web")
    async with node.harness:
        await node.begun(bus)
        node.change("web", finished=True, status_written=False)
        await node.harness.advance(TOTAL + 1)
    bus.tell("cancel")
    after = Node(tmp_path, bus)
    answered = asyncio.Event()

    async def late(_: GetLivePods) -> LivePods:
        found = LivePods(list(after.pods.values()), complete=True)
        await answered.wait()
        return found

    async with after.harness:
        await after.seen(bus, "lock", 2)
        after.harness.answer(GetLivePods, late)
        await after.harness.advance(REPEAT_SECONDS)
        after.put("web")
        after.harness.answer(GetLivePods, lambda _: LivePods(list(after.pods.values()), complete=True))
        await after.begun(bus)
        assert (after.killed(), after.kept()) == ({"web": TOTAL - CRITICAL}, ["web"])
        answered.set()
        await after.harness.settle()
        assert (after.killed(), after.kept()) == ({"web": TOTAL - CRITICAL}, ["web"])


async def test_the_end_of_a_shutdown_that_no_agent_saw_is_recorded_after_the_boot(
    node: Node, bus: SystemBus, tmp_path: Path
) -> None:
    node.put("web")
    async with node.harness:
        await node.begun(bus)  # and the power goes off
    assert "endTime" not in json.loads(node.state.read_bytes())
    bus.tell("cancel")
    after = Node(tmp_path, bus, now=NOW + 60.0)
    async with after.harness:
        await after.turned(active=False)
        record = json.loads(after.state.read_bytes())
        assert (record["startTime"], record["endTime"]) == (micro_time(NOW), micro_time(NOW + 60.0))


async def test_a_pod_removed_from_the_api_server_is_no_longer_reported(
    node: Node, bus: SystemBus, tmp_path: Path
) -> None:
    node.put("web")
    async with node.harness:
        await node.begun(bus)
        node.change("web", finished=True, status_written=False)
        await node.harness.advance(TOTAL + 1)
        assert node.kept() == ["web"]
        bus.tell("cancel")
        await node.turned(active=False, count=2)
        del node.pods["web"]
        await node.harness.advance(REPEAT_SECONDS)
        assert node.kept() == []


async def test_a_shutdown_that_is_cancelled_leaves_the_other_pods_alone(node: Node, bus: SystemBus) -> None:
    node.put("web")
    node.put("dns", SYSTEM)
    async with node.harness:
        await node.begun(bus)
        bus.tell("cancel")
        await node.turned(active=False, count=2)
        await node.seen(bus, "lock", 2)
        await node.harness.advance(TOTAL + 1)
        assert set(node.killed()) == {"web"}
        assert node.harness.sent(NodeProblem)[-1] == NodeProblem("shutdown", "")
        await node.harness.wait(lambda: bus.locks == 1, "the first lock let go")
        texts = [event.message for event in node.harness.sent(RecordEvent)]
        assert texts == ["Shutdown manager detected shutdown event", "Shutdown manager detected shutdown cancellation"]


async def test_a_shutdown_is_cancelled_also_where_no_lock_can_be_had_again(node: Node, bus: SystemBus) -> None:
    node.put("web")
    node.put("dns", SYSTEM)
    async with node.harness:
        await node.begun(bus)
        bus.tell("refuse")
        bus.tell("cancel")
        await node.turned(active=False, count=2)
        await node.harness.advance(TOTAL + 1)
        assert set(node.killed()) == {"web"}


async def test_room_is_made_after_a_shutdown_that_was_there_at_the_start(tmp_path: Path, bus: SystemBus) -> None:
    bus.tell("begin")
    await asyncio.to_thread(bus.wait_seen, "begin")
    node = Node(tmp_path, bus, total=20)
    async with node.harness:
        await node.turned(active=True)
        assert not bus.drop_in_dir.exists()
        bus.tell("cancel")
        await node.seen(bus, "configuration")


async def test_the_shutdown_state_is_unknown_before_logind_has_answered(node: Node, bus: SystemBus) -> None:
    async with node.harness:
        assert not node.harness.sent(NodeShutdown)
        assert not node.harness.sent(NodeProblem)
        await node.turned(active=False)
    bus.stop()
    without = Node(node.state.parent.parent, bus)
    async with without.harness:
        await without.turned(active=False)


async def test_a_pod_that_runs_again_is_not_named(node: Node, bus: SystemBus) -> None:
    node.put("web")
    async with node.harness:
        await node.begun(bus)
        node.change("web", finished=True, status_written=False)
        await node.harness.advance(TOTAL + 1)
        bus.tell("cancel")
        await node.turned(active=False, count=2)
        node.change("web", finished=False, started=NOW + 100)
        before = len(node.harness.sent(KillPod))
        await node.harness.advance(REPEAT_SECONDS)
        assert node.kept() == []
        assert len(node.harness.sent(KillPod)) == before


async def test_a_signal_from_an_unprivileged_sender_ends_no_pod(node: Node, bus: SystemBus) -> None:
    node.put("web")
    async with node.harness:
        await node.seen(bus, "lock")
        asked = len(bus.seen("asked"))
        bus.tell("lie")
        await node.seen(bus, "asked", asked + 1)  # whether it is true
        await node.harness.advance(1.0)
        assert node.killed() == {}
        assert bus.locks == 1
        bus.tell("begin")
        await node.turned(active=True)
        assert set(node.killed()) == {"web"}


async def test_the_delay_limit_of_logind_is_raised_to_the_windows(tmp_path: Path, bus: SystemBus) -> None:
    node = Node(tmp_path, bus, total=20)
    async with node.harness:
        await node.seen(bus, "configuration")
        assert "[Login]\nInhibitDelayMaxSec=20\n" in (bus.drop_in_dir / DROP_IN).read_text()
        await node.locked(bus)
        node.put("web")
        bus.tell("begin")
        await node.turned(active=True)
        assert node.killed() == {"web": 18}


async def test_critical_pods_keep_their_time_if_logind_allows_less(
    tmp_path: Path, bus: SystemBus, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path, bus, total=20)
    bus.drop_in_dir.write_text("no directory")
    node.put("web")
    node.put("dns", SYSTEM)
    async with node.harness:
        await node.begun(bus)
        assert node.killed() == {"web": 3}
        await node.harness.advance(3.2)
        assert node.killed() == {"web": 3, "dns": 2}
        assert "logind waits 5 s for pods to end, not 20 s" in caplog.text


async def test_a_missing_bus_is_retried_each_second_and_reported_once(
    node: Node, bus: SystemBus, caplog: pytest.LogCaptureFixture
) -> None:
    bus.stop()
    async with node.harness:
        for _ in range(5):
            await node.harness.advance(1.0)
            await asyncio.sleep(0.02)
        assert caplog.text.count("will not wait for its pods") == 1
        bus.start()
        await node.locked(bus)
        bus.stop()
        await node.harness.wait(lambda: caplog.text.count("will not wait") == 2, "the warning again")
        bus.start()
        await node.locked(bus, 2)


async def test_the_bus_may_go_in_the_middle_of_a_shutdown(node: Node, bus: SystemBus) -> None:
    node.put("web")
    node.put("dns", SYSTEM)
    async with node.harness:
        await node.begun(bus)
        bus.stop()
        node.change("web", finished=True)
        await node.harness.advance(POLL_SECONDS)
        assert set(node.killed()) == {"web", "dns"}


async def test_the_next_incarnation_resumes_a_shutdown_without_other_reports(
    tmp_path: Path, node: Node, bus: SystemBus
) -> None:
    node.put("web")
    async with node.harness:
        await node.begun(bus)
    begun = json.loads(node.state.read_bytes())["startTime"]
    next_one = Node(tmp_path, bus, incarnation=2, now=NOW + 5)
    next_one.pods = node.pods
    async with next_one.harness:
        await next_one.harness.wait_sent(KillPod, timeout=20.0)
        assert all(told.active for told in next_one.harness.sent(NodeShutdown))
        assert {told.message for told in next_one.harness.sent(NodeProblem)} == {NOT_READY}
        assert json.loads(next_one.state.read_bytes())["startTime"] == begun


async def test_the_next_incarnation_finds_that_the_shutdown_was_cancelled(
    tmp_path: Path, node: Node, bus: SystemBus
) -> None:
    async with node.harness:
        await node.seen(bus, "lock")
        bus.stop()  # so that it does not see the end
        bus.start()
        await node.locked(bus, 2)
        node.put("web")
        bus.tell("begin")
        await node.turned(active=True)
    bus.stop()
    next_one = Node(tmp_path, bus, incarnation=2)
    async with next_one.harness:
        assert {told.active for told in next_one.harness.sent(NodeShutdown)} == {True}
        bus.start()
        while not [told for told in next_one.harness.sent(NodeShutdown) if not told.active]:
            await next_one.harness.advance(1.0)
            await asyncio.sleep(0.02)
        assert next_one.harness.sent(NodeProblem)[-1].message == ""


async def test_without_logind_the_next_incarnation_does_not_presume_a_shutdown_for_ever(
    tmp_path: Path, node: Node, bus: SystemBus
) -> None:
    async with node.harness:
        await node.seen(bus, "lock")
        node.put("web")
        bus.tell("begin")
        await node.turned(active=True)
    bus.stop()
    next_one = Node(tmp_path, bus, incarnation=2)
    async with next_one.harness:
        await next_one.harness.advance(TOTAL + PRESUMED_SECONDS)
        said = [told.active for told in next_one.harness.sent(NodeShutdown)]
        assert (said[0], said[-1]) == (True, False)


async def test_a_restarted_logind_without_a_shutdown_is_trusted(node: Node, bus: SystemBus) -> None:
    async with node.harness:
        await node.begun(bus)
        bus.tell("forget")
        await node.harness.wait(lambda: not node.harness.sent(NodeShutdown)[-1].active, "over", timeout=20.0)
        await node.seen(bus, "lock", 2)


async def test_a_descriptor_that_a_stranger_sends_is_closed(node: Node, bus: SystemBus) -> None:
    async with node.harness:
        await node.seen(bus, "lock")
        bus.tell("litter")
        await node.seen(bus, "swept")
        assert bus.locks == 1


async def test_pods_keep_their_time_while_the_list_of_pods_is_unknown(node: Node, bus: SystemBus) -> None:
    node.put("web")
    node.harness.answer(GetLivePods, AskError("status_manager is not there"))
    async with node.harness:
        await node.begun(bus)
        await node.harness.advance(1.0)
        assert bus.locks == 1
        node.harness.answer(GetLivePods, lambda _: LivePods(list(node.pods.values()), complete=True))
        await node.harness.advance(POLL_SECONDS)
        assert node.killed() == {"web": 2}


async def test_an_actor_that_sends_hello_gets_the_current_state(node: Node, bus: SystemBus) -> None:
    async with node.harness:
        await node.seen(bus, "lock")
        before = len(node.harness.sent(NodeShutdown))
        await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
        assert len(node.harness.sent(NodeShutdown)) == before + 1
