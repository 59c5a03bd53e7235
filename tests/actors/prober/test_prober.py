"""The prober with a faked runtime and workers, and real servers: when it probes, what it reports, restarts."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

from actors.api_clients.event_client.messages import RecordEvent
from actors.pod_workers.messages import ProbeVerdict, ShardPods, pod_workers, worker_of
from actors.prober.actor import Prober
from actors.prober.messages import PodAddress, ProbedContainer, ProbedPod
from actors.prober.outcome import ProbeOutcome
from actors.shared.config.agent import Agent
from actors.shared.cri.errors import Unavailable
from actors.shared.cri.model import ExecResult
from actors.status_manager.messages import STATUS_MANAGER, ProbeResult
from supervision.process_messages import Hello
from supervision.protocol import GetMetrics
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.shard_harness import Driven

WORKER = worker_of("u", 2)


class Runtime:
    """Answers each command with the next of `codes` of its container; the last one stays. None: the runtime is down."""

    def __init__(self) -> None:
        self.codes: dict[str, list[int | None]] = {}
        self.calls: list[str] = []
        self.hang: set[str] = set()

    async def version(self): ...

    async def exec_sync(self, container_id, command, timeout_seconds=0):
        self.calls.append(container_id)
        if container_id in self.hang:
            await asyncio.Event().wait()
        codes = self.codes.setdefault(container_id, [0])
        code = codes.pop(0) if len(codes) > 1 else codes[0]
        if code is None:
            raise Unavailable("ExecSync", "UNAVAILABLE", "")
        return ExecResult(code, b"said")


def started(run_dir: str = "/dev/null/none") -> tuple[Harness, Runtime]:
    """`run_dir`: of the quarantine; by default there is none."""
    runtime, clock = Runtime(), VirtualClock()
    arguments = {"runtime": runtime, "rng": random.Random(1), "clock": clock}
    agent = Agent(run_dir=run_dir, workers=2)
    harness = Harness(Prober, name="prober", context=agent, arguments=arguments, incarnation=2, clock=clock)
    return harness, runtime


def pod(kinds: dict[str, dict], *, id: str = "c1", running: bool = True, age: float = 0.0, uid: str = "u", **more):
    probes = {f"{kind}Probe": {"exec": {"command": ["x"]}, **probe} for kind, probe in kinds.items()}
    spec = {"containers": [{"name": "a", "image": "i", **probes}]}
    raw = json.dumps({"metadata": {"name": "p", "namespace": "n", "uid": uid}, "spec": spec}).encode()
    facts = ProbedContainer("a", id, running, time.time_ns() - int(age * 1e9), more.pop("started", False))
    return ProbedPod(uid, raw, [facts], **more)


def results(harness: Harness, kind: str = "readiness") -> list[tuple[str, bool]]:
    return [(m.container_id, m.success) for m in harness.sent(ProbeResult, "status_manager") if m.kind == kind]


def verdicts(harness: Harness) -> list[tuple[str, str, bool]]:
    return [(m.kind, m.container_id, m.success) for m in harness.sent(ProbeVerdict, WORKER)]


async def test_the_prober_reports_nothing_before_it_has_a_pod():
    harness, _ = started()
    async with harness:
        assert harness.outbox == []


async def test_readiness_follows_the_thresholds_and_is_reported_on_change_only():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [0, 0, 1, 1, 1, 1, 0]
        await harness.deliver(pod({"readiness": {}}))
        await harness.advance(0.0)
        assert results(harness) == [("c1", True)]
        await harness.advance(30.0)
        assert results(harness) == [("c1", True)]
        await harness.advance(10.0)
        assert results(harness) == [("c1", True), ("c1", False)]
        await harness.advance(40.0)
        assert results(harness) == [("c1", True), ("c1", False), ("c1", True)]
        assert verdicts(harness) == []


async def test_a_container_that_is_not_ready_is_probed_with_each_synchronization_if_its_period_is_longer():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [1, 1, 0, 0]
        await harness.deliver(pod({"readiness": {"periodSeconds": 600}}))
        await harness.advance(0.0)
        await harness.advance(59.0)
        assert len(runtime.calls) == 1
        await harness.advance(31.0)
        assert len(runtime.calls) == 2
        await harness.advance(90.0)
        assert (len(runtime.calls), results(harness)) == (3, [("c1", True)])
        await harness.advance(500.0)
        assert len(runtime.calls) == 3, "a container that is ready has its period"
        await harness.advance(100.0)
        assert len(runtime.calls) == 4


async def test_each_probe_is_counted_and_the_time_of_those_that_did_not_fail_is_measured():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [0, 1, 1, 0]
        await harness.deliver(pod({"readiness": {}}))
        for _ in range(4):
            await harness.advance(10.0)
        samples = harness.actor.metrics.snapshot("prober", 1).samples
        counted = {one.labels["result"]: one.value for one in samples if one.name == "prober_probe_total"}
        (took,) = [one for one in samples if one.name == "prober_probe_duration_seconds"]
        assert counted == {"successful": sum(took.counts), "failed": 2}
        assert sum(took.counts) >= 2


async def test_other_probes_keep_their_period():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [1]
        await harness.deliver(pod({"liveness": {"periodSeconds": 600}}))
        await harness.advance(0.0)
        await harness.advance(599.0)
        assert len(runtime.calls) == 1


async def test_a_probe_waits_for_its_initial_delay_from_the_start_of_the_container():
    harness, runtime = started()
    async with harness:
        await harness.deliver(pod({"liveness": {"initialDelaySeconds": 20}}, age=5.5))
        await harness.advance(14.5)
        assert runtime.calls == []
        await harness.advance(1.0)
        assert runtime.calls == ["c1"]


async def test_failed_liveness_is_reported_once_and_the_probe_stops_until_the_container_is_replaced():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [0, 1]
        await harness.deliver(pod({"liveness": {"failureThreshold": 2}}))
        await harness.advance(25.0)
        assert verdicts(harness) == [("liveness", "c1", True), ("liveness", "c1", False)]
        count = len(runtime.calls)
        await harness.advance(100.0)
        assert len(runtime.calls) == count
        await harness.deliver(pod({"liveness": {"failureThreshold": 2}}, id="c1", running=False))
        await harness.deliver(pod({"liveness": {"failureThreshold": 2}}, id="c2"))
        await harness.advance(4.0)
        assert len(verdicts(harness)) == 2, "the program has until the next tick to come up"
        await harness.advance(1.5)
        assert verdicts(harness)[2:] == [("liveness", "c2", True)]


async def test_liveness_and_readiness_wait_for_startup_which_then_ends():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [1, 1, 0]
        await harness.deliver(pod({"startup": {"periodSeconds": 5}, "liveness": {}, "readiness": {}}))
        await harness.advance(9.0)
        assert (verdicts(harness), results(harness), len(runtime.calls)) == ([], [], 2)
        await harness.advance(1.5)
        assert verdicts(harness) == [("startup", "c1", True), ("liveness", "c1", True)]
        assert results(harness) == [("c1", True)]
        assert results(harness, "startup") == [("c1", True)]
        assert len(runtime.calls) == 5
        await harness.advance(10.0)
        assert len(runtime.calls) == 7


async def test_a_runtime_that_is_slow_to_end_a_command_adds_no_failure():
    harness, runtime = started()
    async with harness:
        runtime.hang = {"c1"}
        await harness.deliver(pod({"liveness": {"periodSeconds": 1, "failureThreshold": 3}}))
        await harness.advance(30.0)
        assert (verdicts(harness), harness.sent(RecordEvent), runtime.calls) == ([], [], ["c1"])


async def test_a_container_that_never_starts_is_reported_to_its_worker():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [1]
        await harness.deliver(pod({"startup": {"failureThreshold": 3}}))
        await harness.advance(21.0)
        assert verdicts(harness) == [("startup", "c1", False)]
        assert harness.sent(ProbeVerdict)[0].message == "said"
        events = harness.sent(RecordEvent, "api_clients/event_client")
        assert [(e.reason, e.message, e.field) for e in events] == [
            ("Unhealthy", "Startup probe failed: said", "spec.containers{a}")
        ] * 3


async def test_a_probe_that_errs_is_tried_three_times_and_changes_nothing():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [0, None]
        await harness.deliver(pod({"liveness": {}, "readiness": {}}))
        await harness.advance(0.0)
        runtime.codes["c1"] = [None]
        before = len(runtime.calls)
        await harness.advance(10.5)
        assert len(runtime.calls) == before + 6
        assert {success for _, success in results(harness)} <= {True}


async def test_a_pod_being_deleted_is_probed_for_readiness_only():
    harness, runtime = started()
    async with harness:
        probes: dict[str, dict[str, Any]] = {"liveness": {}, "readiness": {}}
        await harness.deliver(pod(probes))
        await harness.advance(0.0)
        runtime.calls.clear()
        await harness.deliver(pod(probes, deleting=True))
        await harness.advance(10.5)
        assert len(runtime.calls) == 1


async def test_a_container_that_does_not_run_and_a_pod_that_is_gone_are_not_probed():
    harness, runtime = started()
    async with harness:
        await harness.deliver(pod({"readiness": {}}, running=False))
        await harness.advance(30.0)
        assert runtime.calls == []
        await harness.deliver(pod({"readiness": {}}))
        await harness.advance(0.0)
        assert len(runtime.calls) == 1
        assert any(s.name == "prober_probe_total" for s in (await harness.deliver(GetMetrics())).samples)
        await harness.deliver(ProbedPod("u", b"", [], gone=True))
        await harness.advance(60.0)
        assert len(runtime.calls) == 1
        assert not any(s.name.startswith("prober_probe_") for s in (await harness.deliver(GetMetrics())).samples)


async def test_a_neighbour_that_sends_hello_gets_the_current_results():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [1]
        await harness.deliver(pod({"liveness": {"failureThreshold": 1}, "readiness": {"failureThreshold": 1}}))
        await harness.advance(0.0)
        harness.clear()
        await harness.deliver(Hello(STATUS_MANAGER, 2))
        assert results(harness) == [("c1", False)]
        assert results(harness, "liveness") == [("c1", False)]
        assert verdicts(harness) == []
        await harness.deliver(Hello(WORKER, 2))
        assert verdicts(harness) == [("liveness", "c1", False)]
        harness.clear()
        (other,) = (name for name in pod_workers(2) if name != WORKER)
        await harness.deliver(Hello(other, 2))
        assert harness.outbox == []


async def test_a_verdict_that_reached_a_new_worker_before_its_pods_is_repeated_with_the_pod():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [1]
        told = pod({"liveness": {"failureThreshold": 1}})
        await harness.deliver(told)
        await harness.advance(0.0)
        await harness.deliver(Hello(WORKER, 2))
        harness.clear()
        await harness.deliver(told)
        assert verdicts(harness) == [("liveness", "c1", False)]


async def test_a_startup_result_is_repeated_until_the_worker_has_it():
    harness, _ = started()
    async with harness:
        await harness.deliver(pod({"startup": {}}))
        await harness.advance(0.0)
        await harness.deliver(Hello(WORKER, 2))
        harness.clear()
        await harness.deliver(pod({"startup": {}}))
        assert verdicts(harness) == [("startup", "c1", True)]
        await harness.deliver(pod({"startup": {}}, started=True))
        assert verdicts(harness) == [("startup", "c1", True)]


async def probed_on(harness: Harness, runtime: Runtime) -> bool:
    runtime.calls.clear()
    await harness.advance(20.5)
    return bool(runtime.calls)


async def test_a_pod_that_was_withdrawn_while_its_worker_was_away_is_forgotten():
    harness, runtime = started()
    async with harness:
        await harness.deliver(pod({"readiness": {}}))
        await harness.deliver(Hello(WORKER, 2))
        assert await probed_on(harness, runtime)  # until its worker knows what there is
        (other,) = (name for name in pod_workers(2) if name != WORKER)
        await harness.deliver(ShardPods(other, 2, []))
        await harness.deliver(ShardPods(WORKER, 2, ["u"]))
        assert await probed_on(harness, runtime)
        await harness.deliver(ShardPods(WORKER, 2, []))
        assert not await probed_on(harness, runtime)
        assert not any(s.name.startswith("prober_probe_") for s in (await harness.deliver(GetMetrics())).samples)


async def test_a_list_older_than_a_pod_keeps_the_pod_probed():
    harness, runtime = started()
    async with harness:
        await harness.deliver(ShardPods(WORKER, 2, []))
        await harness.deliver(pod({"readiness": {}}))
        await harness.deliver(ShardPods(WORKER, 2, []))
        assert await probed_on(harness, runtime)
        await harness.deliver(Hello(WORKER, 2))
        await harness.deliver(pod({"readiness": {}}))
        await harness.deliver(ShardPods(WORKER, 2, []))
        assert await probed_on(harness, runtime)


async def test_a_pod_that_returns_after_it_was_forgotten_is_probed_again():
    harness, runtime = started()
    async with harness:
        await harness.deliver(pod({"readiness": {}}))
        await harness.deliver(Hello(WORKER, 2))
        await harness.deliver(ShardPods(WORKER, 2, []))
        await harness.deliver(pod({"readiness": {}}))
        assert await probed_on(harness, runtime)


async def test_a_worker_sends_the_prober_the_list_of_its_pods(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        assert node.harness.sent(ShardPods, "prober")[-1].uids == []


async def test_after_a_restart_old_containers_are_probed_within_a_period_and_not_all_at_once():
    harness, runtime = started()
    async with harness:
        for index in range(30):
            await harness.deliver(pod({"readiness": {}}, id=f"c{index}", uid=f"u{index}", age=600))
        await harness.advance(1.0)
        assert 0 < len(runtime.calls) < 15
        assert not any(not success for _, success in results(harness))
        await harness.advance(9.1)
        assert len(set(runtime.calls)) == 30


async def test_a_started_container_is_not_started_again_after_a_restart():
    harness, runtime = started()
    async with harness:
        await harness.deliver(pod({"startup": {}, "readiness": {}}, started=True))
        await harness.advance(0.0)
        assert runtime.calls == ["c1"]
        assert results(harness, "startup") == []
        assert results(harness) == [("c1", True)]


async def test_a_target_that_hangs_delays_no_other_probe():
    harness, runtime = started()
    async with harness:
        for index in range(10):
            runtime.hang.add(f"h{index}")
            await harness.deliver(pod({"readiness": {}}, id=f"h{index}", uid=f"h{index}"))
        await harness.advance(0.0)
        await harness.deliver(pod({"readiness": {}}))
        await harness.advance(0.0)
        await harness.wait_sent(ProbeResult, where=lambda result: result.container_id == "c1")


async def test_a_changed_pod_keeps_its_unchanged_probes():
    harness, runtime = started()
    async with harness:
        await harness.deliver(pod({"readiness": {}, "liveness": {}}))
        await harness.advance(0.0)
        runtime.calls.clear()
        await harness.deliver(pod({"readiness": {}}))
        await harness.advance(10.5)
        assert len(runtime.calls) == 1
        await harness.deliver(Hello(STATUS_MANAGER, 2))
        assert results(harness, "liveness") == [("c1", True)]


async def test_http_and_tcp_probes_go_to_the_pods_address():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline():
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    harness, _ = started()
    try:
        async with harness:
            probes = {"readiness": {"exec": None, "httpGet": {"port": port}}}
            probes["liveness"] = {"exec": None, "tcpSocket": {"port": port}}
            await harness.deliver(pod(probes))
            await harness.advance(30.0)
            assert harness.sent(ProbeResult) == [], "it has no address yet"
            assert harness.sent(RecordEvent) == []
            await harness.deliver(PodAddress("u", "127.0.0.1"))
            await harness.advance(0.0)
            await harness.wait_sent(ProbeResult, count=2)
            assert (results(harness), verdicts(harness)) == ([("c1", True)], [("liveness", "c1", True)])
    finally:
        server.close()


async def test_a_probe_that_errs_has_an_event():
    harness, runtime = started()
    async with harness:
        runtime.codes["c1"] = [None]
        await harness.deliver(pod({"liveness": {}}))
        await harness.advance(0.0)
        text = "Liveness probe errored and resulted in unknown state: rpc error: code = Unavailable desc = "
        assert [(e.reason, e.type, e.message) for e in harness.sent(RecordEvent)] == [("Unhealthy", "Warning", text)]
        assert len(runtime.calls) == 3
        counted = (await harness.deliver(GetMetrics())).samples
        assert not any(sample.name.startswith("prober_probe_") for sample in counted)


async def test_a_port_that_no_container_names_is_an_event_and_no_restart():
    harness, _ = started()
    async with harness:
        await harness.deliver(pod({"liveness": {"exec": None, "tcpSocket": {"port": "http"}}}))
        await harness.deliver(PodAddress("u", "127.0.0.1"))
        await harness.advance(50.0)
        text = 'Liveness probe errored and resulted in unknown state: strconv.Atoi: parsing "http": invalid syntax'
        assert {e.message for e in harness.sent(RecordEvent)} == {text}
        assert verdicts(harness) == []


async def test_an_address_that_comes_before_its_pod_and_one_that_changes_are_used():
    harness, _ = started()
    calls: list[str] = []

    async def run(action, subject):
        calls.append(subject.pod_ip)
        return ProbeOutcome("success")

    async with harness:
        for probe_type in harness.actor._types._types:
            probe_type.run = run
        probes = {"readiness": {"exec": None, "grpc": {"port": 9000}}}
        await harness.deliver(PodAddress("u", "192.0.2.1"))
        await harness.deliver(pod(probes))
        await harness.advance(0.0)
        await harness.deliver(PodAddress("u", "fd00::1"))
        await harness.advance(10.5)
        await harness.deliver(PodAddress("u", ""))
        await harness.advance(30.0)
        assert calls == ["192.0.2.1", "fd00::1"]


async def test_a_restart_of_the_status_manager_removes_no_address():
    harness, _ = started()
    async with harness:
        await harness.deliver(PodAddress("u", "127.0.0.1"))
        await harness.deliver(PodAddress("other", "127.0.0.1"))
        await harness.deliver(pod({"readiness": {"exec": None, "tcpSocket": {"port": 1}}}))
        await harness.deliver(Hello(STATUS_MANAGER, 2))
        await harness.advance(0.0)
        await harness.wait_sent(RecordEvent)
        assert harness.actor._addresses == {"u": "127.0.0.1"}, "that of a pod that may be gone is not kept"
