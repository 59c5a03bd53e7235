"""The questions to the actors about the pods of this node, with a fallback if an actor hangs."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from actors.pleg.messages import PLEG, GetRuntimePods, RuntimeSnapshot
from actors.pod_config.messages import POD_CONFIG, GetSources, PodSources
from actors.pod_workers.messages import is_pod_worker, worker_of
from actors.status_manager.messages import STATUS_MANAGER, GetPods, Pods
from supervision.cli.answers import STARTING, Answers
from supervision.cli.command import NO_ANSWER, CommandError
from supervision.protocol import Tree

from .node_pods import NodePods, of_runtime, refused_by, unread_of


def node_pods(answers: Answers) -> NodePods:
    """The pods from the status manager, else from the PLEG. Raises CommandError when neither answers."""
    pods, by_runtime, removed = list_pods(answers)
    refused, unread = from_sources(answers)
    problems = [*answers.problems, *([unread] if unread and not by_runtime else []), *_idle_workers(answers)]
    return NodePods(pods, refused, problems, by_runtime, removed)


def _idle_workers(answers: Answers) -> list[str]:
    """The shards that do nothing now, and not just because they start: the status of their pods is of before."""
    silent = {name: why for name, why in answers.silent.items() if is_pod_worker(name) and why != STARTING}
    return [f"pods of {name} are shown as they were: it {why}" for name, why in silent.items()]


def from_sources(answers: Answers) -> tuple[list[str], str]:
    """The errors of manifests and pods that do not run because of their content, and the sources that were not read yet
    ('' for none)."""
    sources = answers.get(POD_CONFIG, GetSources(), PodSources, "refused manifests are not shown")
    return (refused_by(sources), unread_of(sources)) if sources is not None else ([], "")


class ListedPods(NamedTuple):
    pods: list[dict[str, Any]]
    """As API objects."""
    by_runtime: bool = False
    """Only the runtime was asked: the status manager does not answer."""
    removed: frozenset[str] = frozenset()
    """The UIDs of the pods that no source has."""


def list_pods(answers: Answers) -> ListedPods:
    """The pods of the node. Raises CommandError when no actor answers."""
    pods, removed = list[dict[str, Any]](), frozenset[str]()
    question: GetPods | None = GetPods()
    while question is not None:
        page = answers.get(STATUS_MANAGER, question, Pods, "what follows is what the runtime has")
        if page is None:
            return ListedPods(_pods_of_runtime(answers), by_runtime=True)
        pods += msgspec.json.decode(page.data)["items"]
        removed |= set(page.removed)
        question = GetPods(page.rest) if page.rest else None
    return ListedPods([{"kind": "Pod", "apiVersion": "v1", **pod} for pod in pods], removed=removed)


def _pods_of_runtime(answers: Answers) -> list[dict[str, Any]]:
    """Raises CommandError when the PLEG does not answer."""
    snapshot = answers.get(PLEG, GetRuntimePods(), RuntimeSnapshot, "pods are not shown")
    if snapshot is None:
        raise CommandError(NO_ANSWER, "; ".join(answers.problems))
    return [of_runtime(pod) for pod in snapshot.pods]


def workers_of(tree: Tree) -> int:
    """The number of shards."""
    return sum(is_pod_worker(actor.name) for actor in tree.actors)


def pod_worker(pod: dict[str, Any], workers: int) -> str:
    """The name of the shard that drives the pod; '' without any."""
    return worker_of(pod["metadata"].get("uid", ""), workers) if workers else ""
