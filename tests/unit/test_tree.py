"""The agent's tree and the policy file that comes with it fit each other."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.paths import default_policy_file
from actors.tree import OPTIONAL, preload_modules, prepare_functions, tree
from supervision.actor import Actor
from supervision.spec import ChildSpec, walk
from supervision.supervisor.policy import load
from tests.support.traces import left_by

FULL = tree(
    Agent(config=KubeletConfiguration(readOnlyPort=10255, shutdownGracePeriod=Duration(1))),
    ChildSpec(name="container_runtime", program=("x",)),
)

JOINED = Agent(standalone=False)


def test_the_policy_file_fits_the_tree_with_and_without_its_optional_boxes():
    assert set(load(Path(default_policy_file()), tree(Agent()), OPTIONAL)) < set(
        load(Path(default_policy_file()), FULL, ())
    )


@pytest.mark.parametrize("spec", [spec for _, _, spec in walk(FULL) if spec.actor], ids=lambda spec: spec.name)
def test_every_box_names_an_actor_that_is_there(spec):
    module, _, name = spec.actor.partition(":")
    assert issubclass(getattr(import_module(module), name), Actor)


@pytest.mark.parametrize("module", preload_modules(JOINED))
def test_everything_that_is_preloaded_can_be_imported(module):
    assert import_module(module)


@pytest.mark.parametrize("function", prepare_functions(JOINED))
def test_shared_preparations_open_nothing_and_start_no_thread(function):
    module, _, name = function.partition(":")
    assert left_by(f"{name}()", after=f"from {module} import {name}") == []


def test_each_worker_is_a_box_of_its_own():
    names = [name for name, _, _ in walk(tree(Agent(workers=3))) if name.startswith("pod_workers/worker/")]
    assert names == ["pod_workers/worker/0", "pod_workers/worker/1", "pod_workers/worker/2"]


def test_only_the_healthz_server_runs_without_servers():
    names = [
        name for name, _, _ in walk(tree(Agent(config=KubeletConfiguration(enableServer=False, readOnlyPort=10255))))
    ]
    assert [name for name in names if name.startswith("http_servers/")] == ["http_servers/healthz_server"]
    assert load(Path(default_policy_file()), tree(Agent(config=KubeletConfiguration(enableServer=False))), OPTIONAL)
