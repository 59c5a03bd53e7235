"""Registration, status and lease against an API server of our own, time in the test's hand."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.heartbeat_client.actor import VOLUMES_SECONDS
from actors.api_clients.heartbeat_client.messages import NodePressure, NodeProblem, RuntimeHandlerReport, VolumesInUse
from actors.api_clients.heartbeat_client.node_writer import TRIES
from actors.api_clients.kube_client.messages import GetObject, ObjectState
from actors.cert_manager.messages import CERT_MANAGER, NodeAddresses
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.shared.config.fields.duration import Duration
from actors.shared.kube.declared_features import OFFERED
from supervision.process_messages import Hello, ServiceState
from supervision.protocol import FORK_SERVER
from tests.support.apiserver import ApiServer
from tests.support.heartbeat import CAPACITY, Heartbeat
from tests.support.present import present

pytestmark = pytest.mark.slow

Story = Callable[[ApiServer], Coroutine[Any, Any, None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Story], None]:
    """Runs a story with a server of its own."""

    def run(story: Story) -> None:
        async def whole() -> None:
            async with ApiServer(tmp_path, node_lifecycle=False) as server:
                await asyncio.wait_for(story(server), 100)

        asyncio.run(whole())

    return run


@pytest.mark.parametrize("able", [True, False])
def test_the_node_reports_the_features_of_the_runtime_and_user_namespaces(play, able):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            handler = RuntimeHandlerReport(name="runc", recursive_read_only_mounts=True, user_namespaces=able)
            await node.runtime(handlers=[handler])
            await node.until(lambda: bool(node.registered and node.node["status"].get("runtimeHandlers")), "handlers")
            (found,) = node.node["status"]["runtimeHandlers"]
            assert found["features"] == {"recursiveReadOnlyMounts": True, "userNamespaces": able}

    play(story)


# -- registration ------------------------------------------------------------------------------------------------------
def test_a_new_node_is_registered_and_becomes_ready_as_soon_as_its_runtime_is(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, agent={"flags": {"node-labels": {"role": "db"}}}) as node:
            await node.until(lambda: node.registered, "node")
            assert node.status("Ready") == "False"
            assert node.condition("Ready")["message"] == "container runtime status check may not have completed yet"
            await node.runtime()
            before = node.clock()
            await node.until(lambda: node.status("Ready") == "True", "Ready", step=0.01)
            assert node.clock() - before < 1.0
            await node.quiet()
            status = node.node["status"]
            assert status["capacity"] == {"cpu": "2", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}
            assert status["images"] == [{"names": ["a@sha256:1", "a:1"], "sizeBytes": 100}]
            assert status["nodeInfo"]["containerRuntimeVersion"] == "containerd://1.6.20"
            assert status["nodeInfo"]["kubeletVersion"].startswith("v1.36.")
            assert [one["type"] for one in status["conditions"]][:3] == [
                "MemoryPressure",
                "DiskPressure",
                "PIDPressure",
            ]
            assert status["declaredFeatures"] == list(OFFERED)
            assert node.node["metadata"]["labels"]["role"] == "db"
            assert node.events() == [
                "Starting",
                "NodeHasSufficientMemory",
                "NodeHasNoDiskPressure",
                "NodeHasSufficientPID",
                "NodeReady",
            ]
            samples = node.harness.actor.metrics.snapshot("x", 1).samples
            times = {one.name: one.value for one in samples if one.name.startswith("kubelet_node_startup")}
            assert len(times) == 5
            assert all(value >= 0 for value in times.values())
            assert node.harness.actor._mode == "joined"

    play(story)


def test_a_missing_server_is_retried_until_it_answers(play):
    async def story(server: ApiServer) -> None:
        await server.stop()
        async with Heartbeat(server) as node:
            await node.pass_time(20)
            await server.start()
            await node.until(lambda: node.registered and bool(node.renewed()), "node and lease", step=0.05)
            assert node.clock() < 1000 + 20 + 2 * 7.5

    play(story)


def test_a_node_that_is_there_is_put_right_and_kept(play):
    async def story(server: ApiServer) -> None:
        labels = {"kubernetes.io/os": "windows", "own": "x"}
        taints = [{"key": "mine", "effect": "NoSchedule"}]
        server.create("nodes", {"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": taints}})
        uid = present(server.get("nodes", "n1"))["metadata"]["uid"]
        async with Heartbeat(server, registerWithTaints=[]) as node:
            await node.ready()
            assert node.node["metadata"]["uid"] == uid
            assert node.node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
            assert node.node["metadata"]["labels"]["own"] == "x"
            assert taints[0]["key"] in [one["key"] for one in node.node["spec"]["taints"]]
            assert not node.requests_for("create", "nodes")

    play(story)


def test_a_reboot_is_reported_once(play):
    async def story(server: ApiServer) -> None:
        server.create("nodes", {"metadata": {"name": "n1"}})
        server.patch("nodes", "n1", {"status": {"nodeInfo": {"bootID": "before"}}}, subresource="status")
        async with Heartbeat(server) as node:
            await node.ready()
            await node.pass_time(30)
            assert node.events().count("Rebooted") == 1
            assert node.node["status"]["nodeInfo"]["bootID"] not in ("", "before")

    play(story)


def test_the_client_waits_for_another_to_create_the_node_without_register_node(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, registerNode=False) as node:
            await node.runtime()
            await node.pass_time(15)
            assert not node.registered
            server.create("nodes", {"metadata": {"name": "n1"}})
            await node.until(lambda: node.status("Ready") == "True", "Ready", step=0.5)
            assert not node.requests_for("create", "nodes")

    play(story)


def test_a_resolv_conf_beyond_the_limits_is_an_event_until_it_is_corrected(play, tmp_path):
    path = tmp_path / "resolv.conf"

    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, resolvConf=str(path), clusterDomain="cluster.local") as node:
            await node.ready()
            assert node.events().count("CheckLimitsForResolvConf") == 1, "there is none"
            path.write_text("search " + "a " * 30)
            await node.pass_time(35)
            said = [one for one in node.harness.sent(RecordEvent) if one.reason == "CheckLimitsForResolvConf"][-1]
            assert said.type == "Warning"
            assert said.message == f"Resolv.conf file '{path}' contains search line consisting of more than 29 domains!"
            await node.pass_time(35)
            assert node.events().count("CheckLimitsForResolvConf") == 3
            path.write_text("search a\n")
            os.utime(path, ns=(1, 1))  # whatever the clock of the file system
            await node.pass_time(70)
            assert node.events().count("CheckLimitsForResolvConf") == 3

    play(story)


@pytest.mark.parametrize(("incarnation", "said"), [(1, True), (2, False)])
def test_a_host_with_old_cgroups_has_an_event_of_that_once(play, incarnation, said):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, incarnation=incarnation, dead=True) as node:
            node.harness.answer(GetNodeResources, NodeResources(CAPACITY, CAPACITY, {}, 0, "cgroupfs", 1))
            await node.ready()
            await node.pass_time(30)
            assert node.events().count("CgroupV1") == said

    play(story)


def test_a_new_node_waits_three_seconds_for_its_capacity_and_no_longer(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, dead=True) as node:
            await node.runtime()
            await node.pass_time(2.5)
            assert not node.registered
            await node.pass_time(1)
            await node.until(lambda: node.registered, "node")
            assert "missing node capacity" in node.condition("Ready")["message"]
            node.harness.answer(GetNodeResources, NodeResources(CAPACITY, CAPACITY, {}, 0, "cgroupfs", 2))
            await node.until(lambda: node.status("Ready") == "True", "Ready")

    play(story)


# -- status ------------------------------------------------------------------------------------------------------------
def test_an_unchanged_status_is_read_each_ten_seconds_and_written_each_five_minutes(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.pass_time(20)
            writes, reads = len(node.requests_for("patch", "nodes/status")), len(node.requests_for("get", "nodes"))
            for _ in range(20):
                await node.runtime()
                await node.pass_time(10)
            assert len(node.requests_for("patch", "nodes/status")) == writes
            assert 18 <= len(node.requests_for("get", "nodes")) - reads <= 21
            beat = node.condition("Ready")["lastHeartbeatTime"]
            for _ in range(11):
                await node.runtime()
                await node.pass_time(10)
            assert len(node.requests_for("patch", "nodes/status")) == writes + 1
            assert node.condition("Ready")["lastHeartbeatTime"] > beat

    play(story)


def test_a_node_that_kube_client_watches_is_not_read_from_the_server(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            node.harness.answer(GetObject, lambda ask: ObjectState(ask.ref, json.dumps(node.node).encode()))
            reads = len(node.requests_for("get", "nodes"))
            for _ in range(5):
                await node.runtime()
                await node.pass_time(10)
            assert len(node.requests_for("get", "nodes")) == reads
            await node.harness.deliver(NodeProblem("shutdown", "node is shutting down"))
            await node.until(lambda: node.status("Ready") == "False", "a status that is written all the same")

    play(story)


def test_a_status_that_others_changed_is_restored_at_the_next_update(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            unknown = {**node.condition("Ready"), "status": "Unknown", "reason": "NodeStatusUnknown"}
            rest = [one for one in node.node["status"]["conditions"] if one["type"] != "Ready"]
            server.patch("nodes", "n1", {"status": {"conditions": [*rest, unknown]}}, subresource="status")
            await node.runtime()
            await node.pass_time(10.5)
            assert node.status("Ready") == "True"

    play(story)


@pytest.mark.parametrize("failures", [1, 4])
def test_a_write_that_fails_is_tried_again_at_once(play, failures):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.pass_time(1)
            server.fault("status", verb="patch", resource="nodes/status", times=failures)
            await node.harness.deliver(NodePressure(memory=True))
            await node.pass_time(10)
            assert node.status("MemoryPressure") == "True"
            assert node.condition("MemoryPressure")["reason"] == "KubeletHasInsufficientMemory"
            assert node.events()[-1] == "NodeHasInsufficientMemory"

    play(story)


def test_a_server_that_refuses_the_first_ready_is_not_asked_all_the_time(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.until(lambda: node.registered, "node")
            await node.quiet()
            refused = server.fault("status", verb="patch", resource="nodes/status", times=1000)
            await node.runtime()
            for _ in range(20):
                await node.pass_time(0.1)
            asked = [one for one in node.requests_for("patch", "nodes/status") if one.status != 200]
            assert len(asked) <= TRIES
            server.faults.remove(refused)
            await node.until(lambda: node.status("Ready") == "True", "Ready", step=1.0)

    play(story)


def test_shutdown_is_reported_at_once_and_its_end_too(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.harness.deliver(NodeProblem("shutdown", "node is shutting down"))
            await node.quiet()
            assert node.condition("Ready")["message"] == "node is shutting down"
            await node.harness.deliver(NodeProblem("shutdown"))
            await node.quiet()
            assert node.status("Ready") == "True"
            assert node.events()[-2:] == ["NodeNotReady", "NodeReady"]

    play(story)


def test_a_runtime_that_is_silent_for_half_a_minute_makes_the_node_not_ready(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            started_at = node.clock()
            await node.ready()
            await node.until(lambda: node.status("Ready") == "False", "NotReady", step=0.125)
            assert 30 <= node.clock() - started_at <= 42
            assert node.condition("Ready")["message"] == "container runtime is down"
            await node.runtime()
            await node.pass_time(10.5)
            assert node.status("Ready") == "True"

    play(story)


def test_volumes_in_use_and_cordoning(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.harness.deliver(VolumesInUse(["b"]))
            await node.harness.deliver(VolumesInUse(["b", "a"]))
            await node.pass_time(VOLUMES_SECONDS)
            assert node.node["status"]["volumesInUse"] == ["a", "b"], "volumes wait for it to be mounted"
            await node.harness.deliver(VolumesInUse(["a"]))
            server.patch("nodes", "n1", {"spec": {"unschedulable": True}})
            await node.pass_time(10.5)
            assert node.node["status"]["volumesInUse"] == ["a"]
            assert "NodeNotSchedulable" in node.events()

    play(story)


def test_cert_manager_gets_the_addresses_before_there_is_a_node_and_again_on_hello(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, agent={"kubeconfig": "/no/such/file", "bootstrap_kubeconfig": "/b"}) as node:
            told = NodeAddresses(["10.0.0.7"], ["n1"])
            assert node.harness.sent(NodeAddresses, "cert_manager") == [told]
            await node.harness.deliver(Hello(CERT_MANAGER, 2))
            assert node.harness.sent(NodeAddresses, "cert_manager") == [told, told]

    play(story)


# -- nothing flaps -----------------------------------------------------------------------------------------------------
def test_restarts_of_the_agent_or_of_this_actor_alone_cause_no_transition(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            before = node.node["status"]
        for incarnation, dead in ((1, False), (2, False), (3, True)):
            async with Heartbeat(server, node.clock, incarnation=incarnation, dead=dead) as node:
                await node.pass_time(25)
                assert node.status("Ready") == "True"
                await node.runtime()
                await node.pass_time(15)
                assert not {"NodeReady", "NodeNotReady"} & set(node.events())
                assert ("Starting" in node.events()) == (incarnation == 1)
                after = node.node["status"]
                assert [one["lastTransitionTime"] for one in after["conditions"]] == [
                    one["lastTransitionTime"] for one in before["conditions"]
                ]
                assert {**after, "conditions": 0} == {**before, "conditions": 0}

    play(story)


def test_with_every_other_actor_dead_the_lease_continues_and_the_node_is_not_ready_after_half_a_minute(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
        async with Heartbeat(server, node.clock, incarnation=2, dead=True) as node:
            times = []
            for _ in range(6):
                await node.pass_time(10.5)
                times.append(node.renewed())
            assert times == sorted(set(times))
            assert node.status("Ready") == "False"
            assert "container runtime status check may not have completed yet" in node.condition("Ready")["message"]

    play(story)


# -- the lease ---------------------------------------------------------------------------------------------------------
def test_a_refused_lease_is_reported_to_the_fork_server(play):
    async def story(server: ApiServer) -> None:
        def told() -> list[str]:
            return [state.text for state in node.harness.sent(ServiceState, FORK_SERVER)]

        async with Heartbeat(server) as node:
            await node.ready()
            await node.until(lambda: told() == [""], "the first renewal")
            server.fault("status", verb="update", resource="leases", code=403, times=5)
            await node.until(lambda: len(told()) == 3, "the trouble and its end")
            assert told()[1].startswith("the node's lease is not renewed: ")
            assert told()[2] == ""

    play(story)


def test_the_lease_is_owned_by_the_node_and_renewed_each_quarter(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, nodeLeaseDurationSeconds=80) as node:
            await node.ready()
            await node.until(lambda: bool(node.renewed()), "lease")
            lease = node.lease
            assert lease is not None
            assert lease["spec"]["holderIdentity"] == "n1"
            assert lease["spec"]["leaseDurationSeconds"] == 80
            owner = lease["metadata"]["ownerReferences"][0]
            assert (owner["kind"], owner["uid"]) == ("Node", node.node["metadata"]["uid"])
            before = len(node.requests_for("update", "leases"))
            for _ in range(10):
                await node.pass_time(20.9)
            assert 9 <= len(node.requests_for("update", "leases")) - before <= 10

    play(story)


def test_the_lease_is_renewed_while_node_status_hangs(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.until(lambda: bool(node.renewed()), "lease")
            server.fault("hang", resource="nodes")
            server.fault("hang", resource="nodes/status")
            times = [node.renewed()]
            for _ in range(4):
                await node.pass_time(10.5)
                times.append(node.renewed())
            assert times == sorted(set(times))

    play(story)


@pytest.mark.parametrize("kind", ["conflict", "status", "drop"])
def test_a_few_failures_in_a_row_cost_no_renewal(play, kind):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.until(lambda: bool(node.renewed()), "lease")
            before = node.renewed()
            server.fault(kind, verb="update", resource="leases", times=3)
            await node.pass_time(10.5)
            assert node.renewed() > before

    play(story)


def test_a_silent_connection_delays_by_one_timeout(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server, nodeStatusUpdateFrequency=Duration(0.5)) as node:
            await node.ready()
            await node.until(lambda: bool(node.renewed()), "lease")
            before = node.renewed()
            server.fault("hang", verb="update", resource="leases", times=1)
            await node.harness.advance(10.5)
            await node.harness.wait(lambda: node.renewed() > before, "renewal on another connection", timeout=3)

    play(story)


def test_a_deleted_lease_is_created_again(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.until(lambda: bool(node.renewed()), "lease")
            server.delete("leases", "n1", "kube-node-lease")
            await node.pass_time(10.5)
            await node.until(lambda: node.lease is not None, "lease")

    play(story)


def test_after_an_hour_without_a_server_all_is_current_in_seconds(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            await node.until(lambda: bool(node.renewed()), "lease")
            before = node.renewed()
            await server.stop()
            for _ in range(60):
                await node.harness.advance(60)
                await asyncio.sleep(0.01)
            await server.start()
            await node.runtime()
            back = node.clock()
            await node.until(lambda: node.renewed() > before, "lease", step=0.05)
            assert node.clock() - back < 8
            await node.runtime()
            await node.pass_time(10.5)
            assert node.status("Ready") == "True"
            assert "NodeNotReady" not in node.events()

    play(story)
