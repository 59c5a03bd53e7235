"""What the doctor finds about the tree of actors, beside what test_other_checks.py has."""

from __future__ import annotations

from typing import Any

from actors.agent.doctor import agent_checks
from actors.agent.doctor.finding import Level
from actors.agent.inspection.pod_waits import PodWaits
from actors.api_clients.event_client.messages import RecentEvent
from actors.image_manager.messages import PendingImage
from actors.status_manager.messages import PodStatusFound
from supervision.protocol import ActorState, LastingFault, Tree, Trouble


def actor(name: str, injected: list[LastingFault] | None = None) -> ActorState:
    return ActorState(name=name, parent="root", kind="actor", state="running", pid=5, injected=injected or [])


def test_an_actor_that_is_down_hides_no_other_finding_about_the_tree() -> None:
    wedged = ActorState(name="prober", parent="root", kind="actor", state="down", last_incident="hang 3s ago")
    taken = Trouble("port", "cannot listen on 0.0.0.0:10250: Address already in use", 3.0, "node_server")
    found = Tree(pid=1, uptime=1.0, state="degraded", actors=[actor("root"), wedged], troubles=[taken])
    down, stopped, port = agent_checks.tree(found, {5})
    assert down.text == "down: prober: down, last incident: hang 3s ago"
    assert (stopped.level, stopped.remedy) == (Level.FAILURE, "kill -CONT 5, or wait: its supervisor replaces it")
    assert port.text.startswith("port: cannot listen")


def test_an_injected_fault_that_lasts_is_named_with_the_command_that_ends_it() -> None:
    slow = actor("pleg", [LastingFault("slow", 20.0)])
    (found,) = agent_checks.tree(Tree(pid=1, uptime=1.0, state="ready", actors=[slow]))
    assert (found.level, found.remedy) == (Level.WARNING, "supervise inject pleg crash")


NOW = 1_800_000_000.0


def pulling(uid: str = "u") -> dict[str, Any]:
    waiting = {"name": "main", "ready": False, "state": {"waiting": {"reason": "ContainerCreating"}}}
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": uid},
        "spec": {"containers": [{"name": "main", "image": "r.example/nginx:9"}]},
        "status": {"phase": "Pending", "containerStatuses": [waiting]},
    }


def test_a_pull_that_is_never_answered_is_named_with_its_registry() -> None:
    waits = PodWaits(images=[PendingImage("r.example/nginx:9", NOW - 300)])
    (found,) = agent_checks.pods([pulling()], (), NOW, waits_of=lambda pod: waits)
    assert found.text == (
        "shop/web: ContainerCreating, 0 of 1 containers ready; "
        "waits for the pull of r.example/nginx:9, which has run for 5m"
    )
    assert found.remedy == "is the registry slow, or the runtime? curl -v https://r.example/v2/"


def test_a_call_that_the_runtime_does_not_answer_is_named_beside_the_cause() -> None:
    full = RecentEvent(
        kind="Pod", namespace="shop", name="web", uid="u", field="", type="Warning", reason="FailedMount",
        message="no space left on device", count=1, first=NOW, last=NOW,
    )  # fmt: skip
    waits = PodWaits(PodStatusFound("u", b"", b"", slow_call="RunPodSandbox", slow_since=NOW - 40))
    (found,) = agent_checks.pods([pulling()], [full], NOW, waits_of=lambda pod: waits)
    assert "; waits for the runtime, which has not answered RunPodSandbox for 40s; FailedMount: no space" in found.text
    assert found.remedy.startswith("df -h")


def test_only_of_a_pod_that_is_not_well_it_is_asked_what_it_waits_for() -> None:
    well, asked = pulling("well"), list[str]()
    well["status"] = {"phase": "Running", "containerStatuses": [{"name": "main", "ready": True, "state": {}}]}

    def waits_of(pod: dict[str, Any]) -> PodWaits:
        asked.append(pod["metadata"]["uid"])
        return PodWaits()

    assert len(list(agent_checks.pods([well, pulling()], (), NOW, waits_of=waits_of))) == 1
    assert asked == ["u"]
