"""The configuration changes while real actors run, die and fail."""

import itertools
import json
import time
from pathlib import Path

import pytest

from actors.config_controller.messages import ConfigStatus, Configz, GetConfigStatus, GetConfigz
from actors.shared.config.checkpoints import State, Store, hash_of, layers_of
from actors.shared.config.layers import read_layers
from actors.shared.config.policy_layer import read_policy
from supervision.actor import AskError
from tests.support.config_tree import HERE, Break, GetMaxPods, MaxPods
from tests.support.stage_process import stage_running

pytestmark = pytest.mark.tree
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


class Node:
    def __init__(self, directory: Path) -> None:
        self.file, self.root = directory / "kubelet.yaml", directory / "root"
        self.run_dir = directory / "run"
        self.policy = directory / "policy.yaml"
        self.flags: list[str] = []
        self.write(10)
        self.store = Store(str(self.root / "troupelet/config"))

    def write(self, pods: int) -> None:
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(f"{HEADER}maxPods: {pods}\n")
        temporary.replace(self.file)

    def write_policy(self, text: str) -> None:
        self.flags = [f"--policy={self.policy}"]
        temporary = self.policy.with_suffix(".tmp")
        temporary.write_text(f"version: 1\n{text}")
        temporary.replace(self.policy)

    def call_good(self) -> None:
        """What is in the file now has been through its trial."""
        layers = [*read_layers(str(self.file), ""), *read_policy(str(self.policy) if self.flags else "")]
        name = hash_of(layers)
        self.store.put(name, layers_of(layers))
        self.store.save(State(assigned=name, current=name, last_known_good=name, orderly=True))

    def running(self):
        flags = " ".join([f"--config={self.file} --root-dir={self.root} --run-dir={self.run_dir}", *self.flags])
        return stage_running(f"{HERE}:application", self.run_dir, AGENT_FLAGS=flags)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def listener_has(stage, pods: int) -> None:
    stage.wait(
        lambda: stage.ask(GetMaxPods(), MaxPods, "container_manager").value == pods, f"{pods} pods at the listener"
    )


def configz(stage) -> int:
    answer = stage.ask(GetConfigz(), Configz, "config_controller")
    return json.loads(answer.body)["kubeletconfig"]["maxPods"]


def test_a_change_reaches_those_who_listen_without_any_restart(node: Node) -> None:
    with node.running() as stage:
        before = stage.processes()
        node.write(20)
        listener_has(stage, 20)
        assert configz(stage) == 20
        assert stage.processes() == before


def test_an_actor_that_is_replaced_after_a_change_has_the_new_configuration(node: Node) -> None:
    with node.running() as stage:
        node.write(20)
        listener_has(stage, 20)
        stage.kill("container_manager")
        stage.wait_running("container_manager", incarnation=2)
        listener_has(stage, 20)


def test_the_controller_is_killed_and_goes_on_where_it_was(node: Node) -> None:
    with node.running() as stage:
        node.write(20)
        listener_has(stage, 20)
        stage.kill("config_controller")
        stage.wait_running("config_controller", incarnation=2)
        assert configz(stage) == 20
        node.write(21)
        listener_has(stage, 21)


def test_an_actor_that_only_reads_its_configuration_begins_anew_with_it_and_no_fault_is_counted(node: Node) -> None:
    with node.running() as stage:
        before = stage.tree()
        node.file.write_text(f"{HEADER}maxPods: 10\nimageGCHighThresholdPercent: 91\n")
        stage.wait_running("image_manager", incarnation=2)
        assert stage.ask(GetMaxPods(), MaxPods, "image_manager").value == 91
        after = stage.tree()
        assert [name for name in before if before[name].pid != after[name].pid] == ["image_manager"]
        assert after["image_manager"].last_incident == ""
        stage.kill("image_manager")
        stage.wait_running("image_manager", incarnation=3)
        assert stage.ask(GetMaxPods(), MaxPods, "image_manager").value == 91
        for percent in range(92, 100):  # more often than the actor may fail
            number = stage.tree()["image_manager"].incarnation
            node.file.write_text(f"{HEADER}maxPods: 10\nimageGCHighThresholdPercent: {percent}\n")
            stage.wait_running("image_manager", incarnation=number + 1)
        assert stage.ask(GetMaxPods(), MaxPods, "image_manager").value == 99
        assert stage.tree()["root"].incarnation == 1


def test_a_supervisor_that_gives_up_under_a_new_configuration_brings_the_old_one_back(node: Node) -> None:
    node.call_good()
    with node.running() as stage:
        node.write(20)
        listener_has(stage, 20)
        assert configz(stage) == 20  # so the supervisors have been counted, which is the next thing it does
        with pytest.raises(AskError):
            stage.ask(Break(), MaxPods, "group/fragile", 1.0)
        stage.wait(lambda: configz(stage) == 10, "the rollback", timeout=20)
        listener_has(stage, 10)
        status = stage.ask(GetConfigStatus(), ConfigStatus, "config_controller")
        assert status.history[-1].what == "rolled back"
        assert "group" in status.history[-1].detail


def test_an_agent_killed_during_a_trial_starts_with_what_was_good(node: Node) -> None:
    node.call_good()
    stages = node.running()
    stage = stages.__enter__()
    node.write(20)
    listener_has(stage, 20)
    stage.process.kill()
    stage.wait_end()
    with node.running() as again:
        assert configz(again) == 10
        assert again.ask(GetConfigStatus(), ConfigStatus, "config_controller").history[-1].what == "rolled back"


def test_a_storm_of_changes_under_load_loses_nothing(node: Node) -> None:
    with node.running() as stage:
        end, counter = time.monotonic() + 3.0, itertools.count(1)
        asked = 0
        while time.monotonic() < end or asked <= 50:
            node.write(100 + next(counter))
            assert stage.ask(GetMaxPods(), MaxPods, "container_manager").value >= 10
            asked += 1
        last = next(counter)
        node.write(100 + last)
        listener_has(stage, 100 + last)
        assert configz(stage) == 100 + last
        assert asked > 50
        assert all(actor.restarts == 0 for actor in stage.tree().values())


NEVER, OFTEN = "actors: {group/fragile: {max_restarts: 0}}", "actors: {group/fragile: {max_restarts: 9}}"


def break_it(stage) -> None:
    with pytest.raises(AskError):
        stage.ask(Break(), MaxPods, "group/fragile", 1.0)


def status(stage) -> ConfigStatus:
    return stage.ask(GetConfigStatus(), ConfigStatus, "config_controller")


def test_a_policy_that_changes_is_what_supervisors_go_by_without_any_restart(node: Node) -> None:
    node.write_policy(NEVER)
    with node.running() as stage:
        first, before = status(stage).current, stage.processes()
        node.write_policy(OFTEN)
        stage.wait(lambda: status(stage).current != first, "the policy is taken")
        assert stage.processes() == before
        break_it(stage)
        stage.wait_running("group/fragile", incarnation=2)
        assert stage.tree()["group"].incarnation == 1


def test_a_policy_that_cannot_be_used_leaves_the_one_before_in_force(node: Node) -> None:
    node.write_policy(OFTEN)
    with node.running() as stage:
        first = status(stage).current
        node.write_policy("actors: {grup/fragile: {max_restarts: 1, memory: 5}}")
        stage.wait(lambda: bool(status(stage).error), "the refusal")
        said = status(stage)
        assert f"{node.policy}:2" in said.error
        assert "did you mean group/fragile?" in said.error
        assert (said.current, said.history[-1].what) == (first, "refused")
        break_it(stage)
        stage.wait_running("group/fragile", incarnation=2)


def test_a_policy_under_which_a_supervisor_gives_up_is_rolled_back(node: Node) -> None:
    node.write_policy(OFTEN)
    node.call_good()
    with node.running() as stage:
        good = status(stage).current
        node.write_policy(NEVER)
        stage.wait(lambda: status(stage).current != good, "the policy is taken")
        break_it(stage)
        stage.wait(lambda: status(stage).current == good, "the rollback", timeout=20)
        assert status(stage).history[-1].what == "rolled back"
        groups = stage.tree()["group"].incarnation
        stage.wait_running("group/fragile")
        break_it(stage)
        stage.wait(lambda: stage.tree()["group/fragile"].restarts >= 2, "a restart by the policy of before")
        assert stage.tree()["group"].incarnation == groups


def test_a_controller_that_is_replaced_goes_on_with_the_policy_that_is_in_force(node: Node) -> None:
    node.write_policy(NEVER)
    with node.running() as stage:
        first = status(stage).current
        node.write_policy(OFTEN)
        stage.wait(lambda: status(stage).current != first, "the policy is taken")
        stage.kill("config_controller")
        stage.wait_running("config_controller", incarnation=2)
        node.write_policy(NEVER)
        stage.wait(lambda: status(stage).current == first, "the first policy again")
        break_it(stage)
        stage.wait(lambda: stage.tree()["group"].restarts == 1, "the supervisor gives up, as the first policy has it")
