"""The configuration changes while real actors run, die and fail."""

import itertools
import json
import time
from pathlib import Path

import pytest

from actors.config_controller.messages import Configz, GetConfigz
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, State, hash_of, layers_of
from actors.shared.config.sources.layers import read_layers
from actors.shared.config.sources.policy_layer import read_policy
from supervision.actor import AskError
from supervision.spec import GetPolicies, PoliciesInForce, Policy
from tests.support.config_tree import HERE, Break, GetMaxPods, MaxPods
from tests.support.fork_server_process import ForkServerProcess, fork_server_running

pytestmark = pytest.mark.tree
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


class Node:
    def __init__(self, directory: Path) -> None:
        self.file, self.root = directory / "kubelet.yaml", directory / "root"
        self.run_dir = directory / "run"
        self.policy = directory / "policy.yaml"
        self.flags: list[str] = []
        self.write(10)
        self.store = ConfigCheckpoints(str(self.root / "troupelet/config"))

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
        return fork_server_running(f"{HERE}:application", self.run_dir, AGENT_FLAGS=flags)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def reader_has(fork_server, pods: int) -> None:
    fork_server.wait(
        lambda: fork_server.ask(GetMaxPods(), MaxPods, "container_manager").value == pods,
        f"{pods} pods at their reader",
    )


def configz(fork_server) -> int:
    answer = fork_server.ask(GetConfigz(), Configz, "config_controller")
    found: int = json.loads(answer.body)["kubeletconfig"]["maxPods"]
    return found


def test_an_actor_that_is_replaced_after_a_change_has_the_new_configuration(node: Node) -> None:
    with node.running() as fork_server:
        node.write(20)
        reader_has(fork_server, 20)
        fork_server.kill("container_manager")
        fork_server.wait_running("container_manager", incarnation=2)
        reader_has(fork_server, 20)


def test_a_killed_controller_continues_where_it_was(node: Node) -> None:
    with node.running() as fork_server:
        node.write(20)
        reader_has(fork_server, 20)
        fork_server.kill("config_controller")
        fork_server.wait_running("config_controller", incarnation=2)
        assert configz(fork_server) == 20
        node.write(21)
        reader_has(fork_server, 21)


def test_a_reader_of_a_changed_configuration_restarts_without_a_fault(node: Node) -> None:
    with node.running() as fork_server:
        before = fork_server.tree()
        node.file.write_text(f"{HEADER}maxPods: 10\nimageGCHighThresholdPercent: 91\n")
        fork_server.wait_running("image_manager", incarnation=2)
        assert fork_server.ask(GetMaxPods(), MaxPods, "image_manager").value == 91
        after = fork_server.tree()
        assert [name for name in before if before[name].pid != after[name].pid] == ["image_manager"]
        assert after["image_manager"].last_incident == ""
        fork_server.kill("image_manager")
        fork_server.wait_running("image_manager", incarnation=3)
        assert fork_server.ask(GetMaxPods(), MaxPods, "image_manager").value == 91
        for percent in range(92, 100):  # more often than the actor may fail
            number = fork_server.tree()["image_manager"].incarnation
            node.file.write_text(f"{HEADER}maxPods: 10\nimageGCHighThresholdPercent: {percent}\n")
            fork_server.wait_running("image_manager", incarnation=number + 1)
        assert fork_server.ask(GetMaxPods(), MaxPods, "image_manager").value == 99
        assert fork_server.tree()["root"].incarnation == 1


def test_a_supervisor_that_gives_up_under_a_new_configuration_brings_the_old_one_back(node: Node) -> None:
    node.call_good()
    with node.running() as fork_server:
        node.write(20)
        reader_has(fork_server, 20)
        assert configz(fork_server) == 20  # so the supervisors have been counted, which is the next thing it does
        with pytest.raises(AskError):
            fork_server.ask(Break(), MaxPods, "group/fragile", 1.0)
        fork_server.wait(lambda: configz(fork_server) == 10, "the rollback", timeout=20)
        reader_has(fork_server, 10)
        status = node.store.state()
        assert status.history[-1].what == "rolled back"
        assert "group" in status.history[-1].detail


def test_an_agent_killed_during_a_trial_continues_it_and_after_three_deaths_starts_with_the_last_known_good(
    node: Node,
) -> None:
    node.call_good()
    for death in range(3):
        running = node.running()
        fork_server = running.__enter__()
        if death == 0:
            node.write(20)
            reader_has(fork_server, 20)
        assert configz(fork_server) == 20
        fork_server.process.kill()
        fork_server.wait_end()
    with node.running() as again:
        assert configz(again) == 10
        assert node.store.state().history[-1].what == "rolled back"


def test_a_storm_of_changes_under_load_loses_nothing(node: Node) -> None:
    with node.running() as fork_server:
        end, counter = time.monotonic() + 3.0, itertools.count(1)
        asked = 0
        while time.monotonic() < end or asked <= 50:
            node.write(100 + next(counter))
            assert fork_server.ask(GetMaxPods(), MaxPods, "container_manager").value >= 10
            asked += 1
        last = next(counter)
        node.write(100 + last)
        reader_has(fork_server, 100 + last)
        assert configz(fork_server) == 100 + last
        assert asked > 50
        assert all(actor.last_incident == "" for actor in fork_server.tree().values())


NEVER, OFTEN = "actors: {group/fragile: {max_restarts: 0}}", "actors: {group/fragile: {max_restarts: 9}}"


def break_it(fork_server) -> None:
    with pytest.raises(AskError):
        fork_server.ask(Break(), MaxPods, "group/fragile", 1.0)


def policies(fork_server: ForkServerProcess) -> dict[str, Policy]:
    return fork_server.ask(GetPolicies(), PoliciesInForce).policies


def test_a_changed_policy_is_in_force_without_any_restart(node: Node) -> None:
    node.write_policy(NEVER)
    with node.running() as fork_server:
        first, before = node.store.state().current, fork_server.processes()
        node.write_policy(OFTEN)
        fork_server.wait(lambda: node.store.state().current != first, "the policy is taken")
        assert fork_server.processes() == before
        fork_server.wait(lambda: policies(fork_server)["group/fragile"].max_restarts == 9, "the policy is in force")
        assert list(policies(fork_server)) == list(fork_server.tree())
        break_it(fork_server)
        fork_server.wait_running("group/fragile", incarnation=2)
        assert fork_server.tree()["group"].incarnation == 1


def test_a_policy_that_cannot_be_used_leaves_the_one_before_in_force(node: Node) -> None:
    node.write_policy(OFTEN)
    with node.running() as fork_server:
        first = node.store.state().current
        node.write_policy("actors: {grup/fragile: {max_restarts: 1, memory: 5}}")
        fork_server.wait(lambda: node.store.state().history[-1].what == "refused", "the refusal")
        said = node.store.state()
        assert f"{node.policy}:2" in said.history[-1].detail
        assert "did you mean group/fragile?" in said.history[-1].detail
        assert said.current == first
        break_it(fork_server)
        fork_server.wait_running("group/fragile", incarnation=2)


def test_a_policy_under_which_a_supervisor_gives_up_is_rolled_back(node: Node) -> None:
    node.write_policy(OFTEN)
    node.call_good()
    with node.running() as fork_server:
        good = node.store.state().current
        node.write_policy(NEVER)
        fork_server.wait(lambda: node.store.state().current != good, "the policy is taken")
        break_it(fork_server)
        fork_server.wait(lambda: node.store.state().current == good, "the rollback", timeout=20)
        assert node.store.state().history[-1].what == "rolled back"
        groups = fork_server.tree()["group"].incarnation
        fork_server.wait_running("group/fragile")
        break_it(fork_server)
        fork_server.wait(lambda: fork_server.tree()["group/fragile"].restarts >= 2, "a restart by the policy of before")
        assert fork_server.tree()["group"].incarnation == groups


def test_a_restarted_controller_keeps_the_policy_in_force(node: Node) -> None:
    node.write_policy(NEVER)
    with node.running() as fork_server:
        first = node.store.state().current
        node.write_policy(OFTEN)
        fork_server.wait(lambda: node.store.state().current != first, "the policy is taken")
        fork_server.kill("config_controller")
        fork_server.wait_running("config_controller", incarnation=2)
        node.write_policy(NEVER)
        fork_server.wait(lambda: node.store.state().current == first, "the first policy again")
        break_it(fork_server)
        fork_server.wait(
            lambda: fork_server.tree()["group"].restarts == 1, "the supervisor gives up, as the first policy has it"
        )
