"""What the actors declare, against their sources; and what the agent makes of it."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from actors import tree as tree_module
from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.api_clients.kube_client.messages import KUBE_CLIENT
from actors.cert_manager.messages import CERT_MANAGER
from actors.config_controller.messages import CONFIG_CONTROLLER
from actors.container_manager.messages import CONTAINER_MANAGER
from actors.image_manager.messages import IMAGE_MANAGER
from actors.pod_config.messages import POD_CONFIG
from actors.pod_workers.messages import ShardPods, pod_workers
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.declaration import Declaration
from actors.shutdown_manager.messages import SHUTDOWN_MANAGER
from actors.status_manager.messages import STATUS_MANAGER
from actors.tree import RELATIONS, declarations, preload_modules, prepare_functions, tree
from actors.volume_manager.messages import VOLUME_MANAGER
from supervision.actor import Actor
from supervision.addresses import ActorName
from supervision.spec import ChildSpec, walk
from tests.support.source_files import parsed

ACTORS = Path(tree_module.__file__).parent
FULL = KubeletConfiguration(readOnlyPort=10255, shutdownGracePeriod=Duration(1))
EACH = pytest.mark.parametrize("declaration", list(declarations()), ids=lambda one: one.name)


def class_of(declaration: Declaration) -> type[Actor]:
    module, _, name = declaration.actor.partition(":")
    found: type[Actor] = getattr(import_module(module), name)
    return found


def box(name: ActorName, agent: Agent) -> ChildSpec:
    return next(spec for full, _, spec in walk(tree(agent)) if full == name)


def everybody(agent: Agent) -> set[str]:
    return {full for full, _, _ in walk(tree(agent))}


@EACH
def test_the_feeder_of_an_actor_answers_its_hello(declaration: Declaration):
    by_name = {one.name: one for one in declarations()}
    silent = [
        feeder
        for feeder in (*declaration.fed_by, *declaration.fed_by_joined)
        if class_of(by_name[feeder]).on_hello is Actor.on_hello
    ]
    assert silent == []


@EACH
def test_an_actor_wants_the_pod_inventory_when_it_handles_it(declaration: Declaration):
    assert (ShardPods in class_of(declaration)._handlers) is declaration.pod_inventory


def test_no_actor_sends_hello_by_itself():
    found = [
        f"{path.relative_to(ACTORS)}:{node.lineno}"
        for path in sorted(ACTORS.rglob("*.py"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Hello"
    ]
    assert found == []


def test_every_package_with_an_actor_declares_it():
    packages = {path.parent.relative_to(ACTORS).parts[0] for path in ACTORS.rglob("actor.py")}
    assert packages <= {one.module.split(".")[1] for one in declarations()}


@pytest.mark.parametrize("name", [CONTAINER_MANAGER, VOLUME_MANAGER, IMAGE_MANAGER, POD_CONFIG, STATUS_MANAGER])
def test_an_actor_that_wants_the_pod_inventory_sends_hello_to_every_pod_worker(name: ActorName):
    assert set(pod_workers(3)) <= set(box(name, Agent(workers=3)).feeders)
    assert name in RELATIONS.inventory


@pytest.mark.parametrize("name", [KUBE_CLIENT, EVENT_CLIENT, HEARTBEAT_CLIENT])
def test_every_client_asks_for_its_certificate_when_it_starts(name: ActorName):
    assert CERT_MANAGER in box(name, Agent(standalone=False)).feeders


def test_a_standalone_agent_has_no_heartbeat_client_and_sends_it_nothing():
    assert HEARTBEAT_CLIENT in everybody(Agent(standalone=False))
    assert HEARTBEAT_CLIENT not in everybody(Agent())
    assert HEARTBEAT_CLIENT in box(CERT_MANAGER, Agent(standalone=False)).feeders
    assert HEARTBEAT_CLIENT not in box(CERT_MANAGER, Agent()).feeders


@pytest.mark.parametrize("name", [POD_CONFIG, STATUS_MANAGER, CONFIG_CONTROLLER])
def test_the_state_of_the_api_client_is_requested_by_an_agent_that_joins_a_cluster(name: ActorName):
    assert KUBE_CLIENT in box(name, Agent(standalone=False)).feeders
    assert KUBE_CLIENT not in box(name, Agent()).feeders


def test_only_actors_in_the_tree_get_a_hello():
    assert SHUTDOWN_MANAGER not in box(CONTAINER_MANAGER, Agent()).feeders
    assert SHUTDOWN_MANAGER in box(CONTAINER_MANAGER, Agent(config=FULL)).feeders


def test_an_agent_that_joins_a_cluster_preloads_and_prepares_more():
    alone, joined = Agent(), Agent(standalone=False)
    assert "actors.shared.api.client" in set(preload_modules(joined)) - set(preload_modules(alone))
    assert set(prepare_functions(joined)) - set(prepare_functions(alone))


def test_the_module_of_an_actor_is_preloaded_when_the_actor_is_in_the_tree():
    module = "actors.shutdown_manager.actor"
    assert module in preload_modules(Agent(config=FULL))
    assert module not in preload_modules(Agent())
