"""OOM kills in a simulated kernel log."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent

from .made_up_node import CONTAINER_ID, MadeUpNode, killed

UID = "11111111-2222-3333-4444-555555555555"
NODE = "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
NODE += "task_memcg={cgroup},task=hungry,pid=77,uid=0\n"
POD = "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg={cgroup},"
POD += "task_memcg={cgroup},task=stress,pid=42,uid=0\n"


class KernelLog:
    """A pipe in place of /dev/kmsg."""

    def __init__(self, root: Path) -> None:
        (root / "dev").mkdir()
        os.mkfifo(root / "dev/kmsg")
        self._end = os.open(root / "dev/kmsg", os.O_RDWR)

    def say(self, record: str) -> None:
        os.write(self._end, record.encode())


@pytest.mark.parametrize("cgroup", ["/", "/system.slice/sshd.service"])
async def test_an_oom_of_the_node_is_an_event_of_the_node_for_any_victim(node: MadeUpNode, cgroup: str) -> None:
    log = KernelLog(node.root)
    async with node.start() as manager:
        log.say(POD.format(cgroup="/system.slice/sshd.service") + NODE.format(cgroup=cgroup))
        told = await manager.wait_sent(RecordEvent, to=EVENT_CLIENT)
        assert (told.kind, told.type, told.reason) == ("Node", "Warning", "SystemOOM")
        assert told.message == "System OOM encountered, victim process: hungry, pid: 77"
        await manager.settle()
        assert len(manager.sent(RecordEvent)) == 1


async def test_an_oom_of_the_node_that_kills_in_a_container_is_an_event_of_both(node: MadeUpNode) -> None:
    log = KernelLog(node.root)
    node.add(UID)
    async with node.start() as manager:
        log.say(NODE.format(cgroup=f"/kubepods/besteffort/pod{UID}/{CONTAINER_ID}"))
        await manager.wait(lambda: len(manager.sent(RecordEvent)) == 2)
        assert [one.reason for one in manager.sent(RecordEvent)] == ["SystemOOM", "OOMKilling"]


async def test_an_oom_kill_in_a_container_is_an_event_of_its_pod_and_names_the_container(node: MadeUpNode) -> None:
    log = KernelLog(node.root)
    node.add(UID)
    async with node.start() as manager:
        log.say(POD.format(cgroup=f"/kubepods/besteffort/pod{UID}/{CONTAINER_ID}"))
        told = await manager.wait_sent(RecordEvent, to=EVENT_CLIENT)
        assert (told.kind, told.uid, told.reason, told.field) == ("Pod", UID, "OOMKilling", "spec.containers{main}")
        assert told.message == "Memory cgroup out of memory: killed process stress, pid: 42"


@pytest.mark.parametrize(("listed", "field"), [(True, "spec.containers{main}"), (False, "")])
async def test_a_container_that_no_look_has_seen_yet_is_named_by_the_runtime(
    node: MadeUpNode, listed: bool, field: str
) -> None:
    log, new = KernelLog(node.root), "facade" * 4
    node.add(UID)
    if listed:
        node.in_runtime[new] = "main"
    async with node.start() as manager:
        log.say(POD.format(cgroup=f"/kubepods/besteffort/pod{UID}/{new}"))
        told = await manager.wait_sent(RecordEvent, to=EVENT_CLIENT)
        assert (told.uid, told.reason, told.field) == (UID, "OOMKilling", field)


async def test_the_event_names_the_index_of_an_init_container(node: MadeUpNode) -> None:
    log = KernelLog(node.root)
    node.add(UID, initContainers=[{"name": "main", "image": "i"}], containers=[{"name": "app", "image": "i"}])
    async with node.start() as manager:
        log.say(POD.format(cgroup=f"/kubepods/besteffort/pod{UID}/{CONTAINER_ID}"))
        assert (await manager.wait_sent(RecordEvent, to=EVENT_CLIENT)).field == "spec.initContainers{main}"


async def test_a_standalone_node_only_logs_an_oom_kill(node: MadeUpNode) -> None:
    log = KernelLog(node.root)
    async with node.start(standalone=True) as manager:
        log.say(NODE.format(cgroup="/"))
        await manager.advance(1.0)
        assert manager.sent(RecordEvent) == []


async def test_pods_are_evicted_while_the_kernel_log_cannot_be_watched(node: MadeUpNode) -> None:
    (node.root / "dev").mkdir()
    (node.root / "dev/kmsg").write_text("a file in place of the device\n")
    node.add("eater", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        await manager.advance(1.0)
        assert killed(manager) == ["eater"]


async def test_a_kernel_log_that_can_no_longer_be_read_is_closed(
    node: MadeUpNode, caplog: pytest.LogCaptureFixture
) -> None:
    console, its_end = os.openpty()
    (node.root / "dev").mkdir()
    (node.root / "dev/kmsg").symlink_to(os.ttyname(its_end))
    async with node.start() as manager:
        os.close(its_end)
        os.close(console)
        async with asyncio.timeout(10):
            while "no longer reported" not in caplog.text:
                await asyncio.sleep(0.01)
        caplog.clear()
        await manager.advance(5.0)
        assert caplog.text.count("no longer reported") == 0
