"""The status manager of a joined node when things fail: the API server, a restart, a pod that does not end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.pod_config.messages import SourcePod, SourcePods
from actors.status_manager.api_server.api_sync import UPKEEP_SECONDS
from actors.status_manager.messages import GetPodStatus, ProbeResult
from supervision.actor import AskError
from supervision.testing.harness import Harness
from tests.support.api_joined import BOUND, begun, conditions, deleted, joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.status_questions import ask_now


# -- faults -------------------------------------------------------------------------------------------------------
async def test_a_write_waits_for_a_kube_client_that_is_being_replaced(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        harness.answer(ApiCall, AskError("kube_client is not there"))
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Pending"
        store.serve(harness)
        await harness.advance(10.0)
        assert store.find("p")["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "drop"},
        {"kind": "lost"},
        {"kind": "status", "code": 429, "retry_after": 2},
        {"kind": "status", "code": 500},
        {"kind": "status", "code": 503},
        {"kind": "status", "code": 409},
        {"kind": "status", "code": 403},
        {"kind": "status", "code": 401},
    ],
)
async def test_a_write_that_fails_is_tried_again_and_then_done(tmp_path: Path, fault: dict[str, Any]):
    store = ApiNeighbour()
    bound = store.put(pod())
    store.fault(**fault, times=3)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        done = fault["kind"] == "lost"
        assert store.find("p")["status"]["phase"] == ("Running" if done else "Pending")
        await harness.advance(10.0)
        assert store.find("p")["status"]["phase"] == "Running"


@pytest.mark.parametrize("code", [403, 409, 500])
async def test_a_status_that_fails_for_long_is_there_ten_seconds_after_the_errors_end(
    tmp_path: Path, code: int
) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        store.fault("status", code=code)
        await harness.deliver(seen(bound))
        await harness.advance(600.0)
        assert store.find("p")["status"]["phase"] == "Pending"
        store.faults.clear()
        await harness.advance(10.0)
        assert store.find("p")["status"]["phase"] == "Running"


@pytest.mark.parametrize(("code", "subject"), [(403, "pod p_n"), (502, "all pods"), (503, "all pods")])
async def test_a_failure_is_logged_once_until_it_is_another_one_or_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: int, subject: str
) -> None:
    def logged() -> list[str]:
        return [one.split(":")[0] for one in caplog.messages if "the API server is asked again in" in one]

    caplog.set_level("INFO")
    store = ApiNeighbour()
    bound = store.put(pod())
    store.fault("status", code=code, times=4)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.advance(60.0)
        assert len(store.sent("PATCH")) == 5
        assert logged() == [subject]
        store.fault("status", code=code, times=1)
        await harness.deliver(seen(bound, run=False, at=2.0))
        await harness.advance(60.0)
        assert logged() == [subject, subject]


@pytest.mark.slow
async def test_a_server_missing_for_hours_is_tried_rarely_and_then_gets_everything_at_once(tmp_path):
    store = ApiNeighbour()
    pods = [store.put(pod(uid=f"u{number}", name=f"p{number}")) for number in range(50)]
    flying, most = [0], [0]
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        store.fault("drop")
        for each in pods:
            await harness.deliver(seen(each))
        await harness.advance(7200)
        assert len(store.calls) < 1500
        assert len(harness.actor._api_sync.writer.backlog) <= 50
        store.calls.clear()

        async def slowly(call: ApiCall) -> ApiAnswer:
            flying[0] += 1
            most[0] = max(most[0], flying[0])
            try:
                await asyncio.sleep(0)
                return store.answer(call)
            finally:
                flying[0] -= 1

        store.faults.clear()
        harness.answer(ApiCall, slowly)
        await store.sync(harness)
        await harness.settle()
        assert {each["status"]["phase"] for each in store.pods.values()} == {"Running"}
        assert len(store.calls) == 50
        assert most[0] == 4


async def test_first_statuses_are_written_before_retries(tmp_path):
    store = ApiNeighbour()
    pods = [store.put(pod(uid=f"u{number}", name=f"p{number}")) for number in range(8)]
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        for each in pods[:7]:
            await harness.deliver(seen(each))
        await harness.settle()
        store.fault("status", code=503)
        for each in pods[:7]:
            await harness.deliver(seen(each, run=True, at=2.0, sandbox_ready=False))
        await harness.deliver(seen(pods[7]))
        await harness.settle()
        store.faults.clear()
        store.calls.clear()
        await harness.advance(5.0)
        order = [call.path.split("/")[6] for call in store.calls]
        assert order.index("p7") == 0
        assert len(order) == 8


async def test_a_status_that_the_server_normalizes_is_not_written_again_and_again(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())

    def normalising(call: ApiCall) -> ApiAnswer:
        patch = json.loads(call.body)
        patch["status"].pop("hostIPs", None)
        return store.answer(msgspec.structs.replace(call, body=json.dumps(patch).encode()))

    async with joined(tmp_path, store) as harness:
        harness.answer(ApiCall, normalising)
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.advance(5 * UPKEEP_SECONDS)
        await harness.deliver(seen(bound, at=5.0))
        assert len(store.calls) == 1
        await harness.deliver(seen(bound, code=1, at=6.0, sandbox_ready=True))
        await harness.advance(5 * UPKEEP_SECONDS)
        assert len(store.calls) == 2


async def test_a_watch_that_lags_reverts_nothing(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    stale = json.dumps(bound).encode()
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        await harness.deliver(SourcePod("api", "u", stale))
        await harness.advance(UPKEEP_SECONDS)
        assert len(store.calls) == 1


async def test_an_unreadable_pod_affects_no_other(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await harness.deliver(SourcePod("api", "x", b'{"metadata": 7}'))
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Running"


# -- restarts -----------------------------------------------------------------------------------------------------
PROBED: dict[str, Any] = {"containers": [{"name": "a", "image": "i", "readinessProbe": {"httpGet": {"port": 80}}}]}


@pytest.mark.parametrize("first", ["worker", "server"])
async def test_a_restart_changes_nothing_at_the_server(tmp_path, first):
    store = ApiNeighbour()
    bound = store.put(pod(**PROBED))
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(ProbeResult("u", "a", "c1", "readiness", True))
        await harness.deliver(seen(bound))
        await harness.settle()
        assert conditions(store.find("p"))["Ready"] == "True"
    before = json.dumps(store.find("p"))
    if (tmp_path / "troupelet").exists():
        (tmp_path / "troupelet").rename(tmp_path / "lost")
    async with joined(tmp_path, store, 2, later=3600) as harness:
        if first == "server":
            await store.sync(harness)
        await harness.deliver(begun(bound))
        if first == "worker":
            await store.sync(harness)
        await harness.settle()
        await harness.deliver(seen(bound, at=9.0))
        await harness.deliver(ProbeResult("u", "a", "c1", "readiness", True))
        await harness.advance(2 * UPKEEP_SECONDS)
    assert json.dumps(store.find("p")) == before


async def test_a_pod_that_was_over_before_a_restart_stays_as_it_was(tmp_path):
    store = ApiNeighbour()
    bound = pod(restartPolicy="Never")
    bound["status"].update(phase="Failed", reason="OutOfcpu", message="no", startTime=BOUND)
    store.put(bound)
    before = json.dumps(store.find("p"))
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(begun(bound))
        await harness.deliver(seen(bound, run=False, worker_phase="terminated", finished=True, sandbox_ready=False))
        await harness.advance(2 * UPKEEP_SECONDS)
    found = store.find("p")["status"]
    kept = json.loads(before)["status"]
    assert {key: found[key] for key in ("phase", "reason", "message", "startTime")} == {
        key: kept[key] for key in ("phase", "reason", "message", "startTime")
    }
    assert "containerStatuses" not in found


async def test_a_status_that_came_about_while_it_was_away_is_written_then(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod(restartPolicy="Never"))
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
    async with joined(tmp_path, store, 2) as harness:
        await harness.deliver(seen(bound, code=0, at=7.0, worker_phase="terminated", finished=True))
        await store.sync(harness)
        await harness.settle()
    assert store.find("p")["status"]["phase"] == "Succeeded"


async def test_a_status_is_found_by_name_and_uid(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        assert json.loads((await ask_now(harness, GetPodStatus("u"))).status)["phase"] == "Running"
        assert (await ask_now(harness, GetPodStatus("", "n", "p"))).uid == "u"


async def test_the_time_from_change_to_write_is_measured(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    store.fault("status", code=500, times=1)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.advance(5.0)
        samples = {s.name: s for s in harness.actor.metrics.snapshot("x", 1).samples}
        found = samples["kubelet_pod_status_sync_duration_seconds"]
        assert sum(found.counts) == 1
        assert found.value == pytest.approx(0.5)


# -- stuck --------------------------------------------------------------------------------------------------------
async def test_a_pod_that_stays_terminating_has_an_event_that_names_what_it_waits_for(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:

        def told() -> list[tuple[str, str]]:
            return [(each.type, each.reason) for each in harness.sent(RecordEvent, "api_clients/event_client")]

        store.put(deleted(store.find("p")))
        await store.sync(harness)
        await harness.deliver(seen(bound, worker_phase="terminating", termination_step="containers"))
        await harness.advance(55.0)
        assert told() == []
        assert stuck(harness) == {}
        await harness.advance(20.0)
        assert told() == [("Warning", "FailedKillPod")]
        assert stuck(harness) == {"containers": 1}
        await harness.deliver(
            seen(bound, code=1, worker_phase="terminated", termination_step="volumes", last_error="busy", at=2.0)
        )
        await harness.advance(100.0)
        assert len(told()) == 2
        assert "volumes: busy" in harness.sent(RecordEvent)[-1].message
        assert stuck(harness) == {"volumes": 1}
        await harness.advance(300.0)
        assert len(told()) == 3
        await harness.deliver(seen(bound, code=1, worker_phase="terminated", finished=True, at=3.0))
        await harness.settle()
        await harness.deliver(SourcePod("api", "u"))
        await harness.advance(20.0)
        assert stuck(harness) == {}
        assert len(told()) == 3


async def test_a_pod_that_waits_for_the_api_server_alone_has_no_event_while_that_is_away(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        store.put(deleted(store.find("p")))
        await store.watch(harness, "p")
        store.fault("status", code=0)
        await harness.deliver(seen(bound, code=143, worker_phase="terminated", finished=True, at=2.0))
        await harness.advance(200.0)
        assert stuck(harness) == {"status": 1}
        store.faults.clear()
        await harness.advance(20.0)
        assert store.gone == ["u"]
        assert harness.sent(RecordEvent, "api_clients/event_client") == []


def stuck(harness: Harness) -> dict[str, float]:
    samples = harness.actor.metrics.snapshot("x", 1).samples
    found = [each for each in samples if each.name == "troupelet_pods_stuck_terminating" and each.value]
    return {each.labels["phase"]: each.value for each in found}


async def test_a_pod_that_the_server_wrongly_reports_missing_is_deleted_later(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    store.fault("status", verb="delete", code=404, times=2)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        store.put(deleted(store.find("p")))
        await store.watch(harness, "p")
        await harness.deliver(seen(bound, code=143, worker_phase="terminated", finished=True, at=2.0))
        await harness.settle()
        assert store.gone == []
        await harness.advance(10.0)
        assert store.gone == ["u"]


async def test_an_answer_that_cannot_be_read_is_a_failure_with_a_pause(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    fault = store.fault("answer", verb="patch", code=200, body='{"metadata": 7}', times=50)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.advance(10.0)
        assert 2 <= fault.seen <= 10
        store.faults.clear()
        await harness.advance(60.0)
        assert store.find("p")["status"]["phase"] == "Running"


async def test_a_deletion_that_is_refused_as_a_conflict_is_tried_again_with_pauses(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    fault = store.fault("status", verb="delete", code=409, times=50)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        store.put(deleted(store.find("p")))
        await store.watch(harness, "p")
        await harness.deliver(seen(bound, code=143, worker_phase="terminated", finished=True, at=2.0))
        await harness.advance(10.0)
        assert 2 <= fault.seen <= 10
        store.faults.clear()
        await harness.advance(60.0)
        assert store.gone == ["u"]


async def test_a_pod_that_others_hold_by_a_finalizer_is_counted_and_not_blamed_on_the_node(tmp_path):
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        store.put(deleted(store.find("p"), finalizers=["example.com/wait"]))
        await store.sync(harness)
        await harness.deliver(seen(bound, code=0, worker_phase="terminated", finished=True))
        await harness.advance(200.0)
        assert stuck(harness) == {"finalizers": 1}
        assert harness.sent(RecordEvent) == []


async def test_failed_writes_of_removed_pods_are_forgotten(tmp_path):
    store = ApiNeighbour()
    store.fault("status", code=403)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        for number in range(20):
            bound = store.put(pod(uid=f"u{number}", name=f"p{number}"))
            await store.watch(harness, f"p{number}")
            await harness.deliver(seen(bound))
            await harness.settle()
            store.remove(f"p{number}")
            await harness.deliver(SourcePod("api", f"u{number}"))
            await harness.deliver(seen(bound, worker_phase="terminated", finished=True, gone=True))
            await harness.settle()
        writer = harness.actor._api_sync.writer
        assert store.sent("PATCH"), "they were tried"
        assert writer._last_errors == {}
        assert len(writer.backlog) == 0


# -- a list that is older than what the incarnation before has written ---------------------------------------------
async def running_before_a_restart(tmp_path: Path, store: ApiNeighbour) -> dict[str, Any]:
    """The pod as it was listed before it ran; the status manager has written that it runs."""
    bound = store.put(pod())
    old: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(store.find("p")))
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
    assert store.find("p")["status"]["phase"] == "Running"
    return old


@pytest.mark.parametrize("watched", [False, True])
async def test_an_old_list_after_a_restart_takes_no_status_back(tmp_path: Path, watched: bool) -> None:
    """`watched`: the watch brings the newer version before the status is written; else the write meets a conflict."""
    store = ApiNeighbour()
    old = await running_before_a_restart(tmp_path, store)
    written = store.find("p")
    async with joined(tmp_path, store, incarnation=2) as harness:
        await harness.deliver(SourcePods("api", [msgspec.json.encode(old)]))
        if watched:
            await store.watch(harness, "p")
        await harness.deliver(begun(old))
        await harness.advance(5.0)
        assert store.find("p") == written
        if not watched:
            await store.watch(harness, "p")
        await harness.deliver(seen(old, at=2.0))
        await harness.advance(5.0)
        assert store.find("p")["status"] == written["status"]


async def test_the_watch_that_overtakes_a_first_status_is_its_base(tmp_path: Path) -> None:
    store = ApiNeighbour()
    old = await running_before_a_restart(tmp_path, store)
    written = store.find("p")
    async with joined(tmp_path, store, incarnation=2) as harness:
        store.fault("status", code=503, times=1)
        await harness.deliver(SourcePods("api", [msgspec.json.encode(old)]))
        await harness.deliver(begun(old))
        await harness.settle()
        await store.watch(harness, "p")
        await harness.advance(5.0)
        assert store.find("p") == written
