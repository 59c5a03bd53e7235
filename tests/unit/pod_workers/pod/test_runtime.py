"""What the runtime has of a pod, over looks."""

from __future__ import annotations

import msgspec
import pytest

from actors.pod_workers.pod.lost_container import LostContainer
from actors.pod_workers.pod.orders import PodWanted, RuntimeChanged
from actors.pod_workers.pod.results import RuntimeObserved
from actors.pod_workers.pod.runtime import alive, created, lost_meanwhile, remains, with_addresses
from actors.pod_workers.pod.state import PodState
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.kube.codec import decode_pod


def runtime(*boxes: tuple[str, bool, list[str]]) -> PodRuntime:
    sandboxes = [
        Sandbox(id=id, pod_uid="u", pod_name="p", pod_namespace="d", ready=ready, ips=ips) for id, ready, ips in boxes
    ]
    return PodRuntime(uid="u", sandboxes=sandboxes)


def test_a_stopped_sandbox_keeps_the_addresses_it_had():
    before = runtime(("s", True, ["10.0.0.2"]))
    assert with_addresses(runtime(("s", False, [])), before) == runtime(("s", False, ["10.0.0.2"]))


def test_a_ready_sandbox_without_an_address_has_lost_it():
    before = runtime(("s", True, ["10.0.0.2"]))
    assert with_addresses(runtime(("s", True, [])), before) == runtime(("s", True, []))


def test_another_sandbox_has_addresses_of_its_own():
    before = runtime(("s", True, ["10.0.0.2"]))
    after = runtime(("t", False, []), ("s", False, ["10.0.0.3"]))
    assert with_addresses(after, before) == after
    assert with_addresses(after, None) == after


def test_only_containers_that_may_have_a_process_are_stopped():
    containers = [CriContainer(id=state, name=state, pod_uid="u", state=state) for state in CriContainerState]
    runtime = PodRuntime(uid="u", containers=containers)
    assert {one.name for one in alive(runtime)} == {"running", "unknown"}
    assert {one.name for one in created(runtime)} == {"created"}


def test_only_containers_listed_as_unknown_may_count_as_ended_once_stopped():
    def one(state: CriContainerState) -> PodRuntime:
        return PodRuntime(uid="u", containers=[CriContainer(id="c", name="a", pod_uid="u", state=state)])

    assert remains(one(CriContainerState.UNKNOWN))
    assert not remains(one(CriContainerState.UNKNOWN), {"c"})
    assert remains(one(CriContainerState.UNKNOWN), {"d"})
    assert remains(one(CriContainerState.RUNNING), {"c"}), "a runtime that says so is believed"
    assert remains(runtime(("s", True, [])), {"s"})


def test_a_container_that_ran_and_is_gone_is_lost_until_the_runtime_has_one_of_its_name():
    def seen(at: float, *states: CriContainerState) -> RuntimeObserved:
        containers = [CriContainer(id=state, name="a", pod_uid="u", sandbox_id="s", state=state) for state in states]
        return RuntimeObserved(PodRuntime(uid="u", containers=containers, at=at))

    ran = seen(1, CriContainerState.RUNNING).apply(PodState(uid="u"))
    assert ran.lost == {}
    assert seen(2, CriContainerState.EXITED).apply(ran).lost == {}
    gone = seen(2).apply(ran)
    assert gone.lost == {"a": LostContainer("s")} == RuntimeChanged(PodRuntime(uid="u", at=2)).apply(ran).lost
    assert seen(3).apply(gone).lost == {"a": LostContainer("s")}
    assert seen(3, CriContainerState.RUNNING).apply(gone).lost == {}
    ended = seen(2, CriContainerState.EXITED).apply(ran)
    assert seen(3).apply(ended).lost == {}


@pytest.mark.parametrize(
    ("policy", "code", "rules", "restarting", "lost"),
    [
        ("OnFailure", 0, [], set(), True),
        ("Never", 1, [], set(), True),
        ("OnFailure", 1, [], set(), False),
        ("Always", 0, [], set(), False),
        ("OnFailure", 0, [], {"c"}, False),
        ("OnFailure", 0, [{"action": "RestartAllContainers"}], set(), False),
    ],
)
def test_a_container_that_has_ended_for_good_stays_so_when_another_program_removes_its_records(
    policy, code, rules, restarting, lost
):
    instance = CriContainer(
        id="c", name="a", pod_uid="u", sandbox_id="s", state=CriContainerState.EXITED, exit_code=code
    )
    spec = {"restartPolicy": policy, "containers": [{"name": "a", "image": "x", "restartPolicyRules": rules}]}
    pod = decode_pod(msgspec.json.encode({"metadata": {"uid": "u"}, "spec": spec}))
    state = PodWanted(pod, b"{}").apply(PodState(uid="u"))
    state = RuntimeObserved(PodRuntime(uid="u", containers=[instance], at=1)).apply(state)
    state = state.with_instances(restarting, restarting=True)
    gone = RuntimeObserved(PodRuntime(uid="u", at=2)).apply(state)
    assert gone.lost == ({"a": LostContainer("s", code)} if lost else {})


RUNNING: dict[str, object] = {"running": {"startedAt": "2024-01-01T00:00:00Z"}}


def shown(name: str, state: object) -> dict[str, object]:
    rest = {"lastState": {}, "ready": False, "restartCount": 0, "image": "x", "imageID": "x"}
    return {"name": name, "state": state, **rest}


def ended(code: int) -> dict[str, object]:
    return {"terminated": {"exitCode": code}}


@pytest.mark.parametrize(
    ("policy", "states", "names"),
    [
        ("Always", {"i": RUNNING, "a": {"waiting": {}}}, {"i"}),
        ("Never", {"i": ended(0), "a": RUNNING, "b": ended(1)}, {"a", "b"}),
        ("OnFailure", {"i": ended(0), "a": ended(1), "b": ended(0)}, {"b"}),
        ("Always", {"a": ended(0), "b": RUNNING}, {"b"}),
        ("Never", {}, set()),
    ],
)
def test_containers_that_the_runtime_lost_while_no_agent_ran_are_known_from_the_last_status(policy, states, names):
    status = {
        "initContainerStatuses": [shown(name, states[name]) for name in "i" if name in states],
        "containerStatuses": [shown(name, states[name]) for name in "ab" if name in states],
    }
    one = {"image": "x"}
    spec = {"restartPolicy": policy, "initContainers": [one | {"name": "i"}]}
    spec |= {"containers": [one | {"name": "a"}, one | {"name": "b"}]}
    pod = decode_pod(msgspec.json.encode({"metadata": {"uid": "u"}, "spec": spec, "status": status}))
    state = PodWanted(pod, b"{}").apply(PodState(uid="u"))
    assert RuntimeObserved(PodRuntime(uid="u", at=1)).apply(state).lost.keys() == names
    there = [CriContainer(id=name, name=name, pod_uid="u", state=CriContainerState.EXITED) for name in "iab"]
    assert RuntimeObserved(PodRuntime(uid="u", containers=there, at=1)).apply(state).lost == {}
    seen = RuntimeObserved(PodRuntime(uid="u", at=1)).apply(PodState(uid="u"))
    assert RuntimeObserved(PodRuntime(uid="u", at=2)).apply(PodWanted(pod, b"{}").apply(seen)).lost == {}


def test_the_agent_itself_removes_containers_when_all_of_a_pod_start_again():
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
    container = {"name": "a", "image": "x", "restartPolicy": "Never", "restartPolicyRules": rules}
    status = {"containerStatuses": [shown("a", RUNNING)]}
    body = {"metadata": {"uid": "u"}, "spec": {"restartPolicy": "Never", "containers": [container]}, "status": status}
    pod = decode_pod(msgspec.json.encode(body))
    assert lost_meanwhile(pod, PodRuntime(uid="u")) == {}
