"""Which dead containers a shard removes, by the kubelet's flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from actors.api_clients.event_client.messages import RecordEvent
from actors.pleg.messages import GetRuntimePods, RuntimeSnapshot
from actors.pod_workers.garbage.node_limit import SECONDS
from actors.shared.cri.pod_lookup import look
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod


def start(home: Path, **flags: Any) -> Driven:
    node = Driven(home, joined=True)
    node.harness.port.context = msgspec.structs.replace(
        node.agent, flags={name.replace("_", "-"): value for name, value in flags.items()}
    )
    return node


async def die(node: Driven, times: int, name: str = "a") -> None:
    """Restarts, until so many are dead and one runs."""
    for number in range(times):
        await node.end(name, 1)
        for _ in range(40):
            if node.running(name) and node.attempts(name)[-1] == number + 1:
                break
            await node.pass_time(10.0)
            await node.relist()
    assert node.running(name)


async def tell_all(node: Driven) -> None:
    runtime = await look(node.fake.client(), "u")
    node.answer(GetRuntimePods, RuntimeSnapshot([runtime], node.clock(), True, True))


async def test_the_configured_number_of_dead_containers_is_kept_per_container(tmp_path: Path) -> None:
    async with start(tmp_path, maximum_dead_containers_per_container=2) as node:
        await node.want(pod())
        await node.first_look()
        await node.sources(pod())
        await node.until(lambda: node.running("a"))
        await die(node, 4)
        await node.relist()
        assert node.attempts("a") == [2, 3, 4]


async def test_the_bound_of_the_node_removes_all_but_the_newest(tmp_path: Path) -> None:
    flags = {"maximum_dead_containers_per_container": -1, "maximum_dead_containers": 1}
    async with start(tmp_path, **flags) as node:
        wanted = pod(containers=[container("a"), container("b")])
        await node.want(wanted)
        await node.first_look()
        await node.sources(wanted)
        await node.until(lambda: node.running("a") and node.running("b"))
        await die(node, 3)
        assert node.attempts("a") == [0, 1, 2, 3], "nobody told what there is: nothing goes"
        await tell_all(node)
        logs = Path(node.agent.pod_logs_dir, "default_p_u", "a")
        for name in ("0.log", "0.log.20260102-030405", "2.log"):
            (logs / name).write_text("said")
        await node.pass_time(SECONDS * 1.2)
        assert node.attempts("a") == [2, 3]
        assert node.attempts("b") == [0]
        assert {one.name for one in logs.iterdir()} == {"2.log", "3.log"}, "the logs of removed containers go with them"


async def test_a_container_that_cannot_be_removed_is_an_event_of_the_node(tmp_path: Path) -> None:
    flags = {"maximum_dead_containers_per_container": -1, "maximum_dead_containers": 1}
    async with start(tmp_path, **flags) as node:
        await node.want(pod())
        await node.first_look()
        await node.sources(pod())
        await node.until(lambda: node.running("a"))
        await die(node, 3)
        await tell_all(node)
        node.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", details="device or resource busy"))
        await node.pass_time(SECONDS * 1.2)
        [event, *_] = [one for one in node.harness.sent(RecordEvent) if one.reason == "ContainerGCFailed"]
        assert (event.kind, event.type) == ("Node", "Warning")
        assert "device or resource busy" in event.message
        assert node.attempts("a") == [0, 1, 2, 3]
