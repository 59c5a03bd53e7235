"""An actor's name is written in its own package and in the tree; everybody else imports it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors import tree as tree_module
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.pod_workers.messages import is_pod_worker, pod_worker, pod_workers, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.spec import ChildSpec, walk

ACTORS = Path(tree_module.__file__).parent
FULL = tree_module.tree(
    Agent(workers=1, config=KubeletConfiguration(readOnlyPort=10255, shutdownGracePeriod=Duration(1))),
    ChildSpec(name=CONTAINER_RUNTIME, program=("x",)),
)
NAMES = {name for name, _, spec in walk(FULL) if not spec.children}
HOMES = ("tree.py", "messages.py")
"""Where names are written."""


def literal_names(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each string that names an actor, or begins to: `f"pod_workers/worker/{n}"`."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if node.value in NAMES or node.value.rstrip("*") == "pod_workers/worker/":
            yield node.lineno, node.value


def test_a_literal_name_is_found_whole_and_in_an_f_string():
    source = 'tell("pleg", x)\ntell(f"pod_workers/worker/{n}", x)\nsay("the pleg is late")\n'
    assert [line for line, _ in literal_names(source)] == [1, 2]


def test_no_actor_is_named_outside_its_own_messages_and_the_tree():
    found = [
        f"{path.relative_to(ACTORS)}:{line}: {text}"
        for path in sorted(ACTORS.rglob("*.py"))
        if path.name not in HOMES
        for line, text in literal_names(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_every_pod_worker_has_the_name_that_the_tree_gives_it(workers):
    boxes = [name for name, _, _ in walk(tree_module.tree(Agent(workers=workers))) if is_pod_worker(name)]
    assert boxes == pod_workers(workers) == [pod_worker(number) for number in range(workers)]


def test_the_worker_of_a_pod_is_always_the_same_one_of_those_there_are():
    assert worker_of("uid", 4) == worker_of("uid", 4)
    assert {worker_of(str(number), 4) for number in range(100)} == set(pod_workers(4))
