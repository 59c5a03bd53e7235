"""Which pod is meant, and what is shown of one when only the runtime can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from actors.agent.inspection.node_pods import (
    NoSuchPod,
    PodNotKnown,
    find,
    of_name,
    of_runtime,
    refused_by,
    why_not,
)
from actors.agent.inspection.pod_rows import readiness, state
from actors.agent.inspection.questions import node_pods
from actors.pod_config.messages import PodSources, SourceState
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.status_manager.messages import Pods
from supervision.cli.answers import STARTING, Answers


def pod(name: str, namespace: str = "default", uid: str = "", source: str = "api") -> dict[str, Any]:
    annotations = {"kubernetes.io/config.source": source}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-of-{name}", "annotations": annotations}
    }


PODS = [pod("web", "shop"), pod("web", "test", "u2"), pod("database"), pod("proxy-n1", source="file"), pod("proxy-x")]


@pytest.mark.parametrize(
    ("wanted", "namespace", "uid"),
    [
        ("database", "", "uid-of-database"),
        ("default/database", "", "uid-of-database"),
        ("shop/web", "", "uid-of-web"),
        ("web", "test", "u2"),
        ("u2", "", "u2"),
        ("proxy", "", "uid-of-proxy-n1"),
    ],
)
def test_a_pod_is_found_by_name_place_or_uid(wanted: str, namespace: str, uid: str) -> None:
    assert find(PODS, wanted, namespace)["metadata"]["uid"] == uid


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("web", "web may be shop/web or test/web"),
        ("databse", "there is no pod databse on this node, did you mean database?"),
        ("dat", "there is no pod dat on this node, did you mean database?"),
        ("qqqqqqq", "there is no pod qqqqqqq on this node: see `supervise pods`"),
    ],
)
def test_a_name_of_no_pod_or_several_is_refused(wanted: str, text: str) -> None:
    with pytest.raises(NoSuchPod) as caught:
        find(PODS, wanted)
    assert str(caught.value) == text


def test_a_misspelt_static_pod_is_suggested_although_its_name_has_the_nodes_at_its_end() -> None:
    with pytest.raises(NoSuchPod, match="no pod helo on this node, did you mean hello-of-a-node"):
        find([*PODS, pod("hello-of-a-node", source="file")], "helo")


REFUSED = [
    "/etc/kubernetes/manifests/bad.yaml: spec.containerz: unknown field",
    "/etc/kubernetes/manifests/bad.yaml: metadata.name: is missing",
    "/etc/kubernetes/manifests/10-crash.json: pod shop/crash ended its worker 3 times and is in quarantine",
]


@pytest.mark.parametrize(
    ("wanted", "errors"),
    [("bad", REFUSED[:2]), ("bad.yaml", REFUSED[:2]), ("crash", REFUSED[2:]), ("shop/crash", REFUSED[2:]), ("ba", [])],
)
def test_the_errors_of_a_name_are_those_of_its_file_or_its_pod(wanted: str, errors: list[str]) -> None:
    assert of_name(REFUSED, wanted) == errors


def test_a_refused_manifest_is_suggested_for_a_misspelt_pod() -> None:
    with pytest.raises(NoSuchPod, match="there is no pod carsh on this node, did you mean crash"):
        find(PODS, "carsh", refused=REFUSED)
    with pytest.raises(NoSuchPod, match="there is no pod bad on this node: see `supervise pods`"):
        find(PODS, "bad", refused=REFUSED)


def test_from_the_runtime_the_newest_container_of_each_name_is_shown() -> None:
    def container(name: str, state: CriContainerState, attempt: int, code: int = 0) -> CriContainer:
        return CriContainer(id=f"{name}{attempt}", name=name, pod_uid="u", state=state, attempt=attempt, exit_code=code)

    newest_first = [
        container("a", CriContainerState.RUNNING, 1),
        container("b", CriContainerState.EXITED, 0, 3),
        container("a", CriContainerState.EXITED, 0, 1),
    ]
    sandbox = Sandbox(id="s", pod_uid="u", pod_name="web", pod_namespace="shop", ips=["10.0.0.1"])
    found = of_runtime(PodRuntime(uid="u", name="web", namespace="shop", sandboxes=[sandbox], containers=newest_first))
    shown = [(one["name"], one["restartCount"], *one["state"]) for one in found["status"]["containerStatuses"]]
    assert shown == [("a", 1, "running"), ("b", 0, "terminated")]
    assert (state(found), found["status"]["podIP"]) == ("ExitCode:3", "10.0.0.1")
    assert found["status"]["podIPs"] == [{"ip": "10.0.0.1"}]


def test_a_container_that_had_ended_well_before_another_was_made_does_not_count_as_one_that_should_run() -> None:
    second = 1_000_000_000

    def container(name: str, made: int, end: int = 0, code: int = 0) -> CriContainer:
        state = CriContainerState.EXITED if end else CriContainerState.RUNNING
        return CriContainer(
            id=f"{name}{made}", name=name, pod_uid="u", state=state, exit_code=code, created_ns=made * second,
            started_ns=made * second, finished_ns=end * second,
        )  # fmt: skip

    loops = [container("loops", 30, 31), container("main", 21), container("loops", 20, 25), container("first", 10, 15)]
    sandbox = Sandbox(id="s", pod_uid="u", pod_name="web", pod_namespace="shop", created_ns=5 * second)
    found = of_runtime(PodRuntime(uid="u", name="web", namespace="shop", sandboxes=[sandbox], containers=loops))
    assert [one["name"] for one in found["spec"]["containers"]] == ["loops", "main"], "in the order of their start"
    assert readiness(found) == (0, 2)
    assert [one.get("ready") for one in found["status"]["containerStatuses"]] == [False, None]
    assert found["status"]["startTime"] == "1970-01-01T00:00:05Z"
    running = found["status"]["containerStatuses"][1]["state"]
    assert running == {"running": {"startedAt": "1970-01-01T00:00:21Z"}}


def test_errors_of_all_sources_are_refusals() -> None:
    sources = PodSources([SourceState("file", "/p", True, 1, ["x"]), SourceState("api", "", True, 1, ["y", "z"])], True)
    assert refused_by(sources) == ["x", "y", "z"]


def test_a_static_pod_of_the_runtime_has_the_name_of_its_manifest() -> None:
    annotations = {"kubernetes.io/config.source": "file"}
    sandbox = Sandbox(id="s", pod_uid="u", pod_name="web-n1", pod_namespace="shop", annotations=annotations)
    found = of_runtime(PodRuntime(uid="u", name="web-n1", namespace="shop", sandboxes=[sandbox]))
    assert find([found], "web") is found


def test_a_pod_that_the_runtime_lacks_may_still_exist() -> None:
    with pytest.raises(PodNotKnown, match="the runtime has no pod carsh, and status_manager does not answer"):
        find(PODS, "carsh", by_runtime=True)


class Told:
    """Answers of actors. `silent`: those that are wedged, and why."""

    problems: Sequence[str] = ()

    def __init__(self, *sources: SourceState, **silent: str) -> None:
        self.silent = silent
        self._sources = PodSources([*sources], ready=all(source.ready for source in sources))

    def get(self, name: str, question: object, reply: type, missing: str = "") -> object:
        return self._sources if reply is PodSources else Pods(b'{"items": []}')


def test_pods_of_a_wedged_worker_are_said_to_be_as_they_were() -> None:
    wedged = {"pod_workers/worker/0": "hangs, for 7s", "pod_workers/worker/1": STARTING, "prober": "hangs, for 7s"}
    found = node_pods(cast(Answers, Told(SourceState("file", "/m", True, 0), **wedged)))
    assert found.problems == ["pods of pod_workers/worker/0 are shown as they were: it hangs, for 7s"]


def test_a_node_with_unread_api_pods_is_not_reported_as_empty() -> None:
    read, unread = SourceState("file", "/m", True, 0), SourceState("api", "https://api", False, 0)
    assert node_pods(cast(Answers, Told(read))).problems == []
    (said,) = node_pods(cast(Answers, Told(read, unread))).problems
    assert said.startswith("pods of api are not read yet")
    assert said in why_not(NoSuchPod("there is no pod web"), [], "web", [said])
    assert said not in why_not(PodNotKnown("the runtime has none"), [], "web", [said])
