"""The pods of a node, by its agent, or without one."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from supervision.cli.answers import Answers
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, OK, CommandError, Context
from supervision.protocol import Tree

from .chosen_pod import pod_of
from .node_pods import NodePods, Object
from .questions import node_pods, workers_of
from .refused_manifests import refused_without_agent
from .without_agent import pods_without_agent

SILENT: Final = (NOT_RUNNING, NO_ANSWER)
"""The exit codes while there is no agent to ask, or it does not answer."""


class NodeSight(NamedTuple):
    """What is known of the pods, and from whom."""

    pods: NodePods
    answers: Answers | None = None
    """To ask more with; None: no agent answers."""
    tree: Tree | None = None
    error: CommandError | None = None
    """Why no agent was asked."""

    @property
    def code(self) -> int:
        """The exit code."""
        return OK if self.error is None else self.error.code

    @property
    def workers(self) -> int:
        """The number of shards."""
        return workers_of(self.tree) if self.tree is not None else 0

    def pod(self, wanted: str, namespace: str) -> Object:
        """The pod of that name. Raises CommandError."""
        try:
            return pod_of(self.pods, wanted, namespace)
        except CommandError as error:
            if self.error is None or error.code != NO_ANSWER:
                raise
            raise CommandError(self.code, f"no pod {wanted} is known: {self.error}") from None


def view(context: Context, *, or_without_agent: bool = True) -> NodeSight:
    """The pods by the agent; if none answers, by its runtime or its files, if `or_without_agent`. Raises
    CommandError."""
    try:
        tree = context.tree()
        answers = Answers(context, tree)
        return NodeSight(node_pods(answers), answers, tree)
    except CommandError as error:
        if not or_without_agent or error.code not in SILENT:
            raise
        found = pods_without_agent(context.arguments.root_dir, error, context.arguments.timeout)
        return NodeSight(msgspec.structs.replace(found, refused=refused_without_agent(context)), error=error)
