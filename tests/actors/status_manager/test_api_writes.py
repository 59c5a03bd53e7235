"""The status manager of a joined node, the API server played in memory: what it writes, deletes, and when."""

from __future__ import annotations

import json
from typing import Any

from actors.api_clients.event_client.messages import RecordEvent
from actors.pod_config.messages import SourcePod
from actors.status_manager.api_server.api_sync import UPKEEP_SECONDS
from actors.status_manager.api_server.backlog import StatusBacklog
from actors.status_manager.messages import GetPods
from actors.status_manager.node_facts import NODE_IP_READS, NODE_SECONDS
from tests.support.api_joined import BOUND, begun, conditions, deleted, joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.apiserver.faults import Fault
from tests.support.present import present
from tests.support.status_questions import ask_now

GATE: dict[str, Any] = {"readinessGates": [{"conditionType": "example.com/gate"}]}


async def test_a_pod_that_runs_is_running_at_the_api_after_one_write(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        assert [call.method for call in store.calls] == ["PATCH"]
        found = store.find("p")
        assert found["status"]["phase"] == "Running"
        assert found["status"]["podIP"] == "10.1.0.2"
        assert found["status"]["hostIPs"] == [{"ip": "10.0.0.1"}]
        assert found["status"]["containerStatuses"][0]["ready"] is True
        assert conditions(found)["Ready"] == "True"
        scheduled = next(c for c in found["status"]["conditions"] if c["type"] == "PodScheduled")
        assert scheduled["lastTransitionTime"] == BOUND
        assert (scheduled["observedGeneration"], found["status"]["observedGeneration"]) == (1, 1)
        assert "spec" not in store.sent("PATCH")[0]


async def test_a_pods_host_ip_is_that_of_its_node_object(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        addresses = [
            {"type": kind, "address": ip} for kind, ip in (("ExternalIP", "fd00::1"), ("InternalIP", "10.0.0.2"))
        ]
        store.node = {**present(store.node), "status": {"addresses": addresses}}
        await harness.advance(NODE_IP_READS * NODE_SECONDS)
        await harness.settle()
        found = store.find("p")["status"]
        assert (found["hostIP"], found["hostIPs"]) == ("10.0.0.2", [{"ip": "10.0.0.2"}, {"ip": "fd00::1"}])


async def test_no_pod_has_the_earlier_address_after_a_restart_with_another_node_ip(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())

    def addresses(ip: str) -> dict[str, Any]:
        return {**present(store.node), "status": {"addresses": [{"type": "InternalIP", "address": ip}]}}

    store.node = addresses("10.0.0.9")
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.advance(3 * NODE_SECONDS)
        await harness.deliver(seen(bound))
        await harness.settle()
        assert store.find("p")["status"]["hostIPs"] == [{"ip": "10.0.0.1"}]
        store.node = addresses("10.0.0.1")
        await harness.advance(NODE_IP_READS * NODE_SECONDS)
        assert store.find("p")["status"]["hostIPs"] == [{"ip": "10.0.0.1"}]


async def test_pods_have_an_event_when_the_node_gets_an_address_of_another_family(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        for address in ("10.0.0.2", "fd00::1"):
            store.node = {**present(store.node), "status": {"addresses": [{"type": "InternalIP", "address": address}]}}
            await harness.advance(NODE_IP_READS * NODE_SECONDS)
            await harness.settle()
        [event] = [one for one in harness.sent(RecordEvent) if one.reason == "HostIPsIPFamilyMismatch"]
        assert event.name == "p"
        assert event.message.startswith(
            "Kubelet detected an IPv4 node IP (10.0.0.2), but the cloud provider selected an IPv6 node IP (fd00::1); "
        )


async def test_an_unchanged_status_is_not_written_again(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        await store.watch(harness, "p")
        await harness.deliver(seen(bound, at=2.0))
        await harness.advance(5 * UPKEEP_SECONDS)
        assert len(store.calls) == 1


async def test_nothing_is_written_before_the_server_has_listed_its_pods(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await harness.deliver(seen(bound))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.calls == []
        await store.sync(harness)
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Running"


async def test_a_pod_that_its_worker_reports_first_is_written_once_the_watch_has_it(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        bound = store.put(pod())
        await harness.deliver(begun(bound))
        await harness.settle()
        assert store.calls == []
        await store.watch(harness, "p")
        await harness.advance(0.5)
        assert store.find("p")["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ContainerCreating"


async def test_a_pod_that_starts_at_once_costs_one_write(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(begun(bound))
        await harness.advance(0.1)
        await harness.deliver(seen(bound, run=False))
        await harness.advance(0.1)
        await harness.deliver(seen(bound, at=2.0))
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Running"
        await harness.advance(UPKEEP_SECONDS)
        assert len(store.calls) == 1


async def test_conditions_of_others_stay_and_readiness_gates_count_as_they_come(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod(**GATE))
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        assert conditions(store.find("p"))["Ready"] == "False"
        found = store.find("p")
        found["status"]["conditions"].append({"type": "example.com/gate", "status": "True"})
        found["status"]["resourceClaimStatuses"] = [{"name": "claim"}]
        store.put(found)
        await store.watch(harness, "p")
        await harness.settle()
        found = store.find("p")
        assert conditions(found)["Ready"] == "True"
        assert conditions(found)["example.com/gate"] == "True"
        assert found["status"]["resourceClaimStatuses"] == [{"name": "claim"}]
        shown = json.loads((await ask_now(harness, GetPods())).data)["items"][0]
        assert shown["status"]["resourceClaimStatuses"] == [{"name": "claim"}]
        assert shown["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]


async def test_a_write_on_an_outdated_version_reads_the_pod_and_is_repeated(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        found = store.find("p")
        found["status"]["startTime"] = "2023-11-14T00:00:00Z"
        store.put(found)
        await harness.deliver(seen(bound))
        await harness.settle()
        assert [call.method for call in store.calls] == ["PATCH", "GET", "PATCH"]
        assert "resourceVersion" not in store.sent("PATCH")[1]["metadata"]
        assert store.find("p")["status"]["phase"] == "Running"
        assert store.find("p")["status"]["startTime"] == "2023-11-14T00:00:00Z"


async def test_another_pod_of_the_same_name_is_left_alone(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        store.put(pod(uid="other"))
        await harness.deliver(seen(bound))
        await harness.advance(2 * UPKEEP_SECONDS)
        assert [call.method for call in store.calls] == ["PATCH", "GET"]
        assert store.find("p")["status"]["phase"] == "Pending"


async def test_a_pod_that_is_gone_at_the_server_is_not_requested_again(tmp_path, caplog):
    caplog.set_level("INFO")
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        store.remove("p")
        await harness.deliver(seen(bound))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert len(store.calls) == 1
        assert "the API server is asked again" not in caplog.text, "it is no failure"


async def test_a_final_phase_by_another_client_stays(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        found = store.find("p")
        found["status"].update(phase="Failed", reason="NodeLost", message="away")
        store.put(found)
        await store.watch(harness, "p")
        await harness.deliver(seen(bound, at=3.0))
        await harness.deliver(seen(bound, code=0, at=4.0, worker_phase="terminated", finished=True))
        await harness.settle()
        status = store.find("p")["status"]
        assert (status["phase"], status["reason"], status["message"]) == ("Failed", "NodeLost", "away")
        assert conditions(store.find("p"))["Ready"] == "False"


# -- the end ------------------------------------------------------------------------------------------------------
async def test_a_pod_is_deleted_only_when_nothing_of_it_is_left(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        store.put(deleted(store.find("p")))
        await store.watch(harness, "p")
        await harness.deliver(seen(bound, worker_phase="terminating", termination_step="containers", at=2.0))
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Running"
        await harness.deliver(seen(bound, code=143, worker_phase="terminated", termination_step="volumes", at=3.0))
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Failed"
        await harness.advance(2 * UPKEEP_SECONDS)
        assert store.gone == []
        await harness.deliver(seen(bound, code=143, worker_phase="terminated", finished=True, at=4.0))
        await harness.settle()
        assert store.gone == ["u"]
        assert store.sent("DELETE")[0]["preconditions"] == {"uid": "u"}
        await harness.deliver(SourcePod("api", "u"))
        await harness.deliver(seen(bound, worker_phase="terminated", finished=True, gone=True))
        assert json.loads((await ask_now(harness, GetPods())).data)["items"] == []


async def test_a_pod_that_has_ended_by_itself_stays_at_the_server(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod(restartPolicy="Never"))
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound, code=0, worker_phase="terminated", finished=True))
        await harness.advance(2 * UPKEEP_SECONDS)
        assert store.find("p")["status"]["phase"] == "Succeeded"
        assert store.gone == []


async def test_a_container_that_never_ran_ends_as_unknown_and_the_pod_fails(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound, worker_phase="terminated", run=False, sandbox_ready=False))
        await harness.settle()
        status = store.find("p")["status"]
        ended = status["containerStatuses"][0]["state"]["terminated"]
        assert (status["phase"], ended["reason"], ended["exitCode"]) == ("Failed", "ContainerStatusUnknown", 137)


async def test_a_refused_pod_reports_the_reason_and_is_removed_when_it_is_deleted(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        why: dict[str, Any] = {
            "reason": "OutOfcpu",
            "message": "Pod was rejected: Node didn't have enough resource: cpu",
        }
        await harness.deliver(seen(bound, worker_phase="rejected", runtime=None, **why))
        await harness.settle()
        status = store.find("p")["status"]
        assert (status["phase"], status["reason"], status["message"]) == ("Failed", *why.values())
        assert "containerStatuses" not in status
        assert not status.get("conditions")  # as in the kubelet, PodScheduled goes, too
        store.put(deleted(store.find("p")))
        await store.watch(harness, "p")
        await harness.deliver(seen(bound, worker_phase="terminated", run=False, finished=True, at=2.0))
        await harness.settle()
        assert store.gone == ["u"]


async def test_finalizers_are_waited_for_without_haste(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        store.put(deleted(store.find("p"), finalizers=["example.com/wait"]))
        await store.sync(harness)
        await harness.deliver(seen(bound, code=0, worker_phase="terminated", finished=True))
        await harness.advance(1.0)
        assert len(store.sent("DELETE")) == 1
        await harness.advance(3 * UPKEEP_SECONDS)
        assert len(store.sent("DELETE")) == 4


async def test_an_evicted_pod_is_marked_as_disrupted_with_its_end(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    why: dict[str, Any] = {"reason": "Evicted", "message": "m", "disruption": "The node was low on resource: memory."}
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.deliver(seen(bound, worker_phase="terminating", at=2.0, **why))
        await harness.settle()
        status = store.find("p")["status"]
        assert (status["phase"], status.get("reason")) == ("Running", None)
        assert "DisruptionTarget" not in conditions(store.find("p"))
        await harness.deliver(seen(bound, code=137, worker_phase="terminated", at=3.0, **why))
        await harness.advance(2 * UPKEEP_SECONDS)
        status = store.find("p")["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
        disrupted = next(c for c in status["conditions"] if c["type"] == "DisruptionTarget")
        assert (disrupted["status"], disrupted["reason"]) == ("True", "TerminationByKubelet")
        assert len(store.sent("PATCH")) == 2


async def test_the_backlog_is_looked_at_once_for_all_pods_of_a_list_and_of_an_upkeep(tmp_path, monkeypatch):
    looks: list[int] = []
    next_due = StatusBacklog.next_due

    def counted(self: StatusBacklog) -> float | None:
        looks.append(len(self))
        return next_due(self)

    monkeypatch.setattr(StatusBacklog, "next_due", counted)
    store = ApiNeighbour()
    store.faults.add(Fault("status", verb="patch"))
    bound = [store.put(pod(f"u{number}", f"p{number}")) for number in range(50)]
    async with joined(tmp_path, store) as harness:
        for each in bound:
            await harness.deliver(begun(each))
        for step in (store.sync(harness), harness.advance(UPKEEP_SECONDS)):
            looks.clear()
            await step
            assert looks
            assert len(looks) < 20
