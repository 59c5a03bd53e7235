"""The config controller with faked neighbours, real files and time in the test's hand."""

import asyncio
import os

import pytest

from actors.config_controller.actor import ConfigController
from actors.config_controller.messages import (
    CgroupDriverLearnt,
    ConfigChanged,
    ConfigMapAssigned,
    Flagz,
    GetConfigz,
    GetFlagz,
    RollBack,
)
from actors.config_controller.session import refreshed
from actors.config_controller.trial import TRIAL_SECONDS
from actors.shared.config.sources.effective import from_json
from supervision.harness import Harness
from supervision.protocol import FORK_SERVER, Done, GetTree, Hello, SetLogging, Shutdown
from tests.support.controlled_node import HEADER, Node, changed, effective, run, status


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    node.write("maxPods: 10\n")
    return node


def test_configz_is_the_effective_configuration(node):
    async def test():
        node.flags = ["--max-pods=11"]
        async with node.running() as harness:
            plain = await effective(harness)
            assert (plain["maxPods"], plain["syncFrequency"], plain["kind"]) == (11, "1m0s", "KubeletConfiguration")
            await harness.deliver(CgroupDriverLearnt("systemd"))
            assert (await effective(harness))["cgroupDriver"] == "systemd"

    run(test())


def test_a_change_of_the_file_is_told_to_those_who_read_what_changed_and_to_nobody_else(node):
    async def test():
        async with node.running("container_manager", "pleg", "image_manager") as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
            told = harness.sent(ConfigChanged)
            assert [name for name, message in harness.outbox if isinstance(message, ConfigChanged)] == [
                "container_manager"
            ]
            assert (told[0].fields, from_json(told[0].config).maxPods) == (("maxPods",), 20)
            assert (await effective(harness))["maxPods"] == 20
            await harness.advance(120)
            assert len(harness.sent(ConfigChanged)) == 1

    run(test())


def test_a_drop_in_that_appears_in_a_new_sub_directory_is_followed(node):
    async def test():
        async with node.running("container_manager") as harness:
            (node.directory / "conf.d/sub").mkdir()
            await changed(harness)
            node.write("maxPods: 30\n", "conf.d/sub/10.conf")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 30
            os.unlink(node.directory / "conf.d/sub/10.conf")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 10

    run(test())


def test_a_change_on_a_file_system_without_events_is_found_by_looking(node):
    async def test():
        async with node.running("container_manager") as harness:
            asyncio.get_running_loop().remove_reader(harness.actor._watcher.fileno())
            node.write("maxPods: 20\n")
            await harness.advance(70)
            assert (await effective(harness))["maxPods"] == 20

    run(test())


def test_flags_win_over_a_changed_file(node):
    async def test():
        node.flags = ["--max-pods=11"]
        async with node.running("container_manager") as harness:
            node.write("maxPods: 20\npodsPerCore: 3\n")
            await changed(harness)
            plain = await effective(harness)
            assert (plain["maxPods"], plain["podsPerCore"]) == (11, 3)

    run(test())


def test_who_reads_what_changed_and_does_not_listen_begins_anew_with_it_and_nobody_else(node):
    async def test():
        async with node.running("pleg") as harness:
            node.write("maxPods: 20\nruntimeRequestTimeout: 1m\noomScoreAdj: -1\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            assert (await status(harness)).pending == ("oomScoreAdj",)
            assert [message.fields for message in harness.sent(ConfigChanged, "pleg")] == [("runtimeRequestTimeout",)]
            (names,) = node.renewed
            workers = [f"pod_workers/worker/{number}" for number in range(node.load().workers)]
            others = ["container_manager", "http_servers/node_server", "image_manager", "prober"]
            assert sorted(names) == sorted([*others, *workers])
            begun = refreshed(node.load())
            assert (begun.config.maxPods, begun.config.oomScoreAdj) == (20, -999)

    run(test())


def test_who_is_owed_a_new_beginning_gets_it_from_the_next_incarnation_too(node):
    async def test():
        node.stage_answer = GetConfigz()  # no answer that counts
        async with node.running(orderly=False):
            node.write("maxPods: 20\n")
            async with node.running(orderly=False) as harness:
                await harness.advance(1.0)
        count = len(node.renewed)
        node.stage_answer = Done()
        async with node.running(orderly=False) as harness:
            await harness.advance(0.1)
            assert node.renewed[count:] == [("container_manager",)]
        async with node.running() as harness:
            await harness.advance(0.1)
            assert len(node.renewed) == count + 1

    run(test())


def test_the_client_of_the_api_server_is_asked_for_a_config_map_where_the_gate_is_on(node):
    (node.directory / "kubeconfig").write_text("")
    node.flags = ["--kubeconfig=kubeconfig", "--feature-gates=DynamicKubeletConfig=true"]

    async def test():
        async with node.running() as harness:
            await harness.advance(0.1)
            assert [message.name for message in harness.sent(Hello, "api_clients/kube_client")] == ["config_controller"]

    run(test())


def test_what_the_engine_does_itself_renews_nobody(node):
    async def test():
        async with node.running() as harness:
            node.write("maxPods: 10\nlogging: {format: json, verbosity: 3}\n")
            await changed(harness)
            assert node.renewed == []
            (order,) = harness.sent(SetLogging, FORK_SERVER)
            assert (order.form, order.verbosity) == ("json", 3)

    run(test())


def test_an_actor_that_starts_late_is_told_what_has_changed_since_the_start_of_the_agent(node):
    async def test():
        async with node.running("container_manager") as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
            harness.clear()
            await harness.deliver(Hello("container_manager", 2))
            assert [message.fields for message in harness.sent(ConfigChanged, "container_manager")] == [("maxPods",)]
            await harness.deliver(Hello("pleg", 2))
            assert harness.sent(ConfigChanged, "pleg") == []

    run(test())


def test_a_file_that_breaks_a_rule_changes_nothing_and_is_reported_once(node):
    async def test():
        async with node.running("container_manager") as harness:
            node.write("maxPods: -1\n")
            await changed(harness)
            await harness.advance(200)
            found = await status(harness)
            assert "maxPods" in found.error
            assert [entry.what for entry in found.history] == ["applied", "refused"]
            assert (await effective(harness))["maxPods"] == 10
            node.write("maxPods: 12\n")
            await changed(harness)
            assert ((await status(harness)).error, (await effective(harness))["maxPods"]) == ("", 12)

    run(test())


def test_a_configuration_under_which_a_supervisor_reaches_its_intensity_is_rolled_back(node):
    async def test():
        async with node.running("container_manager") as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            node.restarts, node.incident = 1, "signal 1s ago"
            await harness.advance(10)
            assert (await effective(harness))["maxPods"] == 20
            node.restarts, node.incident = 2, "exit 1s ago"
            await harness.advance(10)
            found = await status(harness)
            assert ((await effective(harness))["maxPods"], found.history[-1].what) == (10, "rolled back")
            assert "pod_workers" in found.history[-1].detail
            await harness.advance(200)
            assert (await effective(harness))["maxPods"] == 10
            told = [from_json(message.config).maxPods for message in harness.sent(ConfigChanged)]
            assert told == [20, 10]

    run(test())


def test_a_configuration_that_passes_its_trial_is_what_later_ones_are_rolled_back_to(node):
    async def test():
        async with node.running("container_manager") as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
            await harness.advance(TRIAL_SECONDS + 10)
            found = await status(harness)
            assert (found.current == found.last_known_good, found.trial_until) == (True, 0.0)
            harness.asks.clear()
            await harness.advance(60)
            assert harness.asks == []

    run(test())


def test_an_operator_goes_back_by_message_and_by_request(node):
    async def test():
        async with node.running("container_manager") as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            first = (await status(harness)).current
            node.write("maxPods: 20\n")
            await changed(harness)
            second = (await status(harness)).current
            answer = await harness.deliver(RollBack())
            assert (answer.current, (await effective(harness))["maxPods"]) == (first, 10)
            node.store.request(second)
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            assert (await harness.deliver(RollBack("0" * 16))).current == second

    run(test())


def test_the_next_incarnation_goes_on_with_what_is_in_force_and_who_listens(node):
    async def test():
        async with node.running("container_manager") as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            context = harness.actor.context
            node.write("maxPods: 20\noomScoreAdj: -1\n")
            await changed(harness)
        again = Harness(
            ConfigController,
            name="config_controller",
            context=context,
            arguments={"clock": node.clock},
            clock=node.clock,
        )
        again.answer(GetTree, node.tree)
        async with again:
            assert (await effective(again))["maxPods"] == 20
            node.write("maxPods: 21\noomScoreAdj: -1\n")
            await changed(again)
            assert again.sent(ConfigChanged, "container_manager")[-1].fields == ("maxPods",)
            assert (await status(again)).pending == ("oomScoreAdj",)
            await again.stop()

    run(test())


def test_after_an_end_in_disorder_during_a_trial_the_agent_starts_with_the_last_known_good(node, monkeypatch):
    async def test():
        async with node.running("container_manager") as harness:
            await harness.advance(TRIAL_SECONDS + 10)
        async with node.running("container_manager", orderly=False) as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
        monkeypatch.setattr("actors.config_controller.session.boot", lambda: "another")
        async with node.running("container_manager") as harness:
            assert (await effective(harness))["maxPods"] == 10
            found = await status(harness)
            assert (found.history[-1].what, found.trial_until) == ("rolled back", 0.0)
            node.write("maxPods: 21\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 21

    run(test())


def test_damaged_checkpoints_are_set_aside_and_the_agent_goes_on(node):
    async def test():
        async with node.running():
            pass
        for path in (node.directory / "root/troupelet/config").iterdir():
            if path.is_file():
                path.write_bytes(b"\0junk")
        async with node.running() as harness:
            assert (await effective(harness))["maxPods"] == 10
            assert (await status(harness)).current

    run(test())


def test_a_directory_that_cannot_be_written_to_costs_the_memory_and_not_the_service(node):
    async def test():
        (node.directory / "root").mkdir()
        (node.directory / "root/troupelet").write_text("in the way")
        async with node.running("container_manager") as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            assert harness.actor.metrics.snapshot("", 1).samples

    run(test())


def test_a_config_map_replaces_the_file_while_its_gate_is_on(node):
    async def test():
        node.flags = ["--feature-gates=DynamicKubeletConfig=true"]
        given = ConfigMapAssigned(
            namespace="kube-system", name="c", uid="u", resource_version="1", data=(HEADER + "maxPods: 40").encode()
        )
        async with node.running("container_manager") as harness:
            await harness.deliver(given)
            assert (await effective(harness))["maxPods"] == 40
            assert node.store.state().source["name"] == "c"
            await harness.deliver(ConfigMapAssigned())
            assert (await effective(harness))["maxPods"] == 10
            await harness.deliver(ConfigMapAssigned(name="c", data=b"kind: x"))
            assert (await effective(harness))["maxPods"] == 10
        node.flags = []
        async with node.running("container_manager") as harness:
            await harness.deliver(given)
            assert (await effective(harness))["maxPods"] == 10

    run(test())


def test_a_storm_of_changes_ends_with_the_last_one(node):
    async def test():
        async with node.running("container_manager") as harness:
            for pods in range(11, 111):
                node.write(f"maxPods: {pods}\n")
                await asyncio.sleep(0)
            await changed(harness)
            await harness.advance(2)
            assert (await effective(harness))["maxPods"] == 110
            assert from_json(harness.sent(ConfigChanged)[-1].config).maxPods == 110
            assert len(list((node.directory / "root/troupelet/config").glob("*.json"))) <= 25

    run(test())


def test_the_agent_makes_way_for_another_that_opens_the_lock_file(node):
    async def test():
        lock = node.directory / "lock"
        lock.touch()
        node.flags = [f"--lock-file={lock}", "--exit-on-lock-contention"]
        async with node.running() as harness:
            await harness.advance(5)
            assert harness.sent(Shutdown) == []
            lock.read_text()
            await harness.wait_sent(Shutdown, to=FORK_SERVER)

    run(test())


def test_without_being_told_to_make_way_the_lock_file_is_not_watched(node):
    async def test():
        lock = node.directory / "lock"
        lock.touch()
        node.flags = [f"--lock-file={lock}"]
        async with node.running() as harness:
            lock.read_text()
            await harness.advance(5)
            assert harness.sent(Shutdown) == []

    run(test())


def test_flags_and_gates_are_told_to_whoever_asks(node):
    async def test():
        node.flags = ["--feature-gates=EventedPLEG=true", "--max-pods=7"]
        async with node.running() as harness:
            told = await harness.deliver(GetFlagz())
            assert isinstance(told, Flagz)
            assert told.flags["max-pods"] == "7"
            assert told.given == ("config", "config-dir", "feature-gates", "max-pods", "root-dir")
            assert told.gates["EventedPLEG"] is True
            assert told.version.startswith("v1.36.")
            samples = harness.actor.metrics.snapshot("", 1).samples
            gates = [s for s in samples if s.name == "kubernetes_feature_enabled"]
            shown = {(s.labels["name"], s.labels["stage"]): s.value for s in gates}
            assert shown["EventedPLEG", "ALPHA"] == 1
            assert shown["NodeSwap", ""] == 1
            assert shown["MemoryQoS", "ALPHA"] == 0

    run(test())


def test_a_file_behind_links_is_followed_when_any_of_them_is_swapped(node):
    """As a ConfigMap is mounted: kubelet.yaml -> ..data/kubelet.yaml, ..data -> ..1, swapped by a rename of ..data."""
    far = node.directory / "far"
    for number, pods in ((1, 20), (2, 30)):
        (far / f"..{number}").mkdir(parents=True)
        (far / f"..{number}" / "kubelet.yaml").write_text(f"{HEADER}maxPods: {pods}\n")
    (far / "..data").symlink_to("..1")
    (far / "kubelet.yaml").symlink_to("..data/kubelet.yaml")
    (node.directory / "kubelet.yaml").unlink()
    (node.directory / "kubelet.yaml").symlink_to(far / "kubelet.yaml")

    async def test():
        async with node.running("container_manager") as harness:
            assert (await effective(harness))["maxPods"] == 20
            (far / "..new").symlink_to("..2")
            (far / "..new").rename(far / "..data")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 30
            (far / "..2" / "kubelet.yaml").write_text(f"{HEADER}maxPods: 40\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 40

    run(test())
