"""The config controller with faked neighbours, real files and a clock that the test sets."""

import asyncio
import errno
import os

import pytest
from inotify_simple import INotify

from actors.config_controller.actor import ConfigController
from actors.config_controller.declaration import DECLARATION
from actors.config_controller.messages import (
    CgroupDriverLearnt,
    ConfigMapAssigned,
    Flagz,
    GetConfigz,
    GetFlagz,
)
from actors.config_controller.session import refreshed
from actors.config_controller.trial import TRIAL_SECONDS
from actors.shared.repeated_save import RETRY_SECONDS
from actors.tree import RELATIONS
from supervision.protocol import FORK_SERVER, Done, GetTree, RollingRestart, SetLogging
from supervision.testing.harness import Harness
from tests.support.controlled_node import HEADER, changed, effective, run, status


def test_configz_is_the_effective_configuration(node):
    async def test():
        node.flags = ["--max-pods=11"]
        async with node.running() as harness:
            plain = await effective(harness)
            assert (plain["maxPods"], plain["syncFrequency"], plain["kind"]) == (11, "1m0s", "KubeletConfiguration")
            await harness.deliver(CgroupDriverLearnt("systemd"))
            assert (await effective(harness))["cgroupDriver"] == "systemd"

    run(test())


def test_a_change_of_the_file_restarts_the_actors_that_read_the_field_once(node):
    async def test():
        async with node.running() as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
            assert node.renewed == [("container_manager",)]
            assert (await effective(harness))["maxPods"] == 20
            await harness.advance(120)
            assert len(node.renewed) == 1

    run(test())


def test_a_drop_in_that_appears_in_a_new_sub_directory_is_followed(node):
    async def test():
        async with node.running() as harness:
            (node.directory / "conf.d/sub").mkdir()
            await changed(harness)
            node.write("maxPods: 30\n", "conf.d/sub/10.conf")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 30
            os.unlink(node.directory / "conf.d/sub/10.conf")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 10

    run(test())


def test_a_change_on_a_file_system_without_events_is_found_by_the_periodic_read(node):
    async def test():
        async with node.running() as harness:
            asyncio.get_running_loop().remove_reader(harness.actor._watches.files._watcher.fileno())
            node.write("maxPods: 20\n")
            await harness.advance(70)
            assert (await effective(harness))["maxPods"] == 20

    run(test())


@pytest.mark.parametrize("kind", ["instance", "watch"])
def test_without_inotify_the_files_are_read_soon_and_watched_when_that_is_possible(node, monkeypatch, kind):
    """Another process of the user has all of fs.inotify.max_user_instances, or of max_user_watches."""

    def none_left(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE if kind == "instance" else errno.ENOSPC, "none left")

    async def test():
        (node.directory / "lock").touch()
        node.flags = [f"--lock-file={node.directory / 'lock'}", "--exit-on-lock-contention"]
        with monkeypatch.context() as full:
            full.setattr(INotify, "__init__" if kind == "instance" else "add_watch", none_left)
            async with node.running() as harness:
                node.write("maxPods: 20\n")
                await harness.advance(11)
                assert (await effective(harness))["maxPods"] == 20
                full.undo()
                await harness.advance(11)
                node.write("maxPods: 30\n")
                await changed(harness)
                assert (await effective(harness))["maxPods"] == 30

    run(test())


def test_flags_take_precedence_over_a_changed_file(node):
    async def test():
        node.flags = ["--max-pods=11"]
        async with node.running() as harness:
            node.write("maxPods: 20\npodsPerCore: 3\n")
            await changed(harness)
            plain = await effective(harness)
            assert (plain["maxPods"], plain["podsPerCore"]) == (11, 3)

    run(test())


def test_only_the_actors_that_read_a_changed_field_restart(node):
    async def test():
        async with node.running() as harness:
            node.write("maxPods: 20\nruntimeRequestTimeout: 1m\noomScoreAdj: -1\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            assert status(harness).history[-1].detail.endswith("(container_manager); waits for a restart: oomScoreAdj")
            assert (await harness.deliver(GetFlagz())).waiting == ("oomScoreAdj",)
            (names,) = node.renewed
            workers = [f"pod_workers/worker/{number}" for number in range(node.load().workers)]
            others = [
                "container_manager",
                "eviction_manager",
                "http_servers/node_server",
                "image_manager",
                "pleg",
                "prober",
            ]
            assert sorted(names) == sorted([*others, *workers])
            begun = refreshed(node.load())
            assert (begun.config.maxPods, begun.config.oomScoreAdj) == (20, -999)

    run(test())


def test_a_rolling_restart_that_was_not_accepted_is_ordered_by_the_next_incarnation(node):
    async def test():
        node.fork_server_answer = GetConfigz()  # an answer that is not valid
        async with node.running(orderly=False):
            node.write("maxPods: 20\n")
            async with node.running(orderly=False) as harness:
                await harness.advance(1.0)
        count = len(node.renewed)
        node.fork_server_answer = Done()
        async with node.running(orderly=False) as harness:
            await harness.advance(0.1)
            assert node.renewed[count:] == [("container_manager",)]
        async with node.running() as harness:
            await harness.advance(0.1)
            assert len(node.renewed) == count + 1

    run(test())


def test_a_change_of_logging_restarts_no_actor(node):
    async def test():
        async with node.running() as harness:
            node.write("maxPods: 10\nlogging: {format: json, verbosity: 3}\n")
            await changed(harness)
            assert node.renewed == []
            (order,) = harness.sent(SetLogging, FORK_SERVER)
            assert (order.form, order.verbosity) == ("json", 3)

    run(test())


async def not_in_force(harness):
    """How many reasons there are, and the hash of what was rolled back."""
    told = await harness.deliver(GetFlagz())
    return len(told.refused), told.rolled_back


def test_a_file_that_breaks_a_rule_changes_nothing_and_is_reported_once(node):
    async def test():
        async with node.running() as harness:
            node.write("maxPods: -1\n")
            await changed(harness)
            await harness.advance(200)
            found = status(harness)
            assert [entry.what for entry in found.history] == ["applied", "refused"]
            assert "maxPods" in found.history[-1].detail
            assert (await effective(harness))["maxPods"] == 10
            assert await not_in_force(harness) == (1, "")
            node.write("maxPods: 12\n")
            await changed(harness)
            assert (status(harness).history[-1].what, (await effective(harness))["maxPods"]) == ("applied", 12)

    run(test())


def test_a_configuration_under_which_a_supervisor_reaches_its_intensity_is_rolled_back(node):
    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            node.restarts = 1
            await harness.advance(10)
            assert (await effective(harness))["maxPods"] == 20
            node.restarts, node.gave_up = 2, [node.clock()]
            await harness.advance(10)
            found = status(harness)
            assert ((await effective(harness))["maxPods"], found.history[-1].what) == (10, "rolled back")
            assert "pod_workers" in found.history[-1].detail
            await harness.advance(200)
            assert (await effective(harness))["maxPods"] == 10
            assert node.renewed == [("container_manager",), ("container_manager",)]

    run(test())


def test_a_configuration_under_which_a_worker_dies_on_pod_after_pod_is_rolled_back(node):
    """Its supervisor does not give up: the quarantine bounds these deaths."""

    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
            node.incidents += 8
            await harness.advance(10)
            assert (await effective(harness))["maxPods"] == 20
            node.incidents += 9
            await harness.advance(10)
            found = status(harness)
            assert ((await effective(harness))["maxPods"], found.history[-1].what) == (10, "rolled back")
            assert "died more than 8 times" in found.history[-1].detail

    run(test())


def test_a_restarted_controller_continues_the_trial(node):
    """It may be restarted with the whole tree, by the very fault for which the configuration is on trial."""

    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.gave_up = [node.clock()]
            await harness.advance(60)
            node.write("maxPods: 20\n")
            await changed(harness)
            await harness.advance(60)
        async with node.running() as harness:
            await harness.advance(10)
            assert ((await effective(harness))["maxPods"], status(harness).trial_until > 0) == (20, True)
        node.gave_up.append(node.clock())
        async with node.running() as harness:
            await harness.advance(10)
            assert ((await effective(harness))["maxPods"], status(harness).history[-1].what) == (10, "rolled back")

    run(test())


def test_a_trial_ends_also_where_its_controller_was_restarted(node):
    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            assert (status(harness).trial_until, status(harness).history[-1].what) == (0.0, "accepted")

    run(test())


def test_later_rollbacks_go_to_the_configuration_that_passed_its_trial(node):
    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
            await harness.advance(TRIAL_SECONDS + 10)
            found = status(harness)
            assert (found.current == found.last_known_good, found.trial_until) == (True, 0.0)
            harness.asks.clear()
            await harness.advance(60)
            assert harness.asks == []

    run(test())


def test_an_operator_rolls_back_to_a_known_configuration(node):
    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            first = status(harness).current
            node.write("maxPods: 20\n")
            await changed(harness)
            second = status(harness).current
            node.store.request("")
            await changed(harness)
            assert (status(harness).current, (await effective(harness))["maxPods"]) == (first, 10)
            assert await not_in_force(harness) == (1, second)
            node.store.request(second)
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            node.store.request("0" * 16)
            await changed(harness)
            assert status(harness).current == second

    run(test())


def test_the_next_incarnation_continues_with_the_configuration_in_force(node):
    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            context = harness.actor.context
            node.write("maxPods: 20\noomScoreAdj: -1\n")
            await changed(harness)
        again = Harness(
            ConfigController,
            name="config_controller",
            context=context,
            arguments={"clock": node.clock, "monotonic": node.clock, **DECLARATION.arguments(RELATIONS)},
            clock=node.clock,
        )
        again.answer(GetTree, node.tree)
        again.answer(RollingRestart, node.renew)
        async with again:
            assert (await effective(again))["maxPods"] == 20
            node.write("maxPods: 21\noomScoreAdj: -1\n")
            await changed(again)
            assert (await effective(again))["maxPods"] == 21
            assert node.renewed[-1] == ("container_manager",)
            assert status(again).history[-1].detail.endswith("(container_manager); waits for a restart: oomScoreAdj")
            await again.stop()

    run(test())


def test_an_agent_that_died_three_times_during_a_trial_starts_with_the_last_known_good(node, monkeypatch):
    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
        async with node.running(orderly=False) as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
        for boot in ("second", "third"):
            monkeypatch.setattr("actors.config_controller.session.boot", lambda boot=boot: boot)
            async with node.running(orderly=False) as harness:
                assert (await effective(harness))["maxPods"] == 20
        monkeypatch.setattr("actors.config_controller.session.boot", lambda: "fourth")
        async with node.running() as harness:
            assert (await effective(harness))["maxPods"] == 10
            found = status(harness)
            assert (found.history[-1].what, found.trial_until) == ("rolled back", 0.0)
            node.write("maxPods: 21\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 21

    run(test())


def test_damaged_checkpoints_are_moved_aside_and_the_agent_continues(node):
    async def test():
        async with node.running():
            pass
        for path in (node.directory / "root/troupelet/config").iterdir():
            if path.is_file():
                path.write_bytes(b"\0junk")
        async with node.running() as harness:
            assert (await effective(harness))["maxPods"] == 10
            assert status(harness).current

    run(test())


def test_the_agent_serves_without_checkpoints_when_their_directory_cannot_be_written(node):
    async def test():
        (node.directory / "root").mkdir()
        (node.directory / "root/troupelet").write_text("in the way")
        async with node.running() as harness:
            node.write("maxPods: 20\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 20
            assert harness.actor.metrics.snapshot("", 1).samples

    run(test())


def test_no_actor_is_restarted_before_the_session_that_it_reads_is_written(node, monkeypatch):
    """On a full disk it would start with the configuration before the change."""

    async def test():
        def fail(*_args, **_options):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        async with node.running() as harness:
            with monkeypatch.context() as patch:
                patch.setattr("actors.config_controller.session.write_private", fail)
                node.write("maxPods: 20\n")
                await changed(harness)
                await harness.advance(3 * RETRY_SECONDS)
                assert node.renewed == []
            await harness.advance(RETRY_SECONDS)
            assert node.renewed == [("container_manager",)]
            assert refreshed(node.load()).config.maxPods == 20

    run(test())


def test_a_config_map_replaces_the_file_while_its_gate_is_on(node):
    async def test():
        node.flags = ["--feature-gates=DynamicKubeletConfig=true"]
        given = ConfigMapAssigned(
            namespace="kube-system", name="c", uid="u", resource_version="1", data=(HEADER + "maxPods: 40").encode()
        )
        async with node.running() as harness:
            await harness.deliver(given)
            assert (await effective(harness))["maxPods"] == 40
            assert node.store.state().source["name"] == "c"
            await harness.deliver(ConfigMapAssigned())
            assert (await effective(harness))["maxPods"] == 10
            await harness.deliver(ConfigMapAssigned(name="c", data=b"kind: x"))
            assert (await effective(harness))["maxPods"] == 10
        node.flags = []
        async with node.running() as harness:
            await harness.deliver(given)
            assert (await effective(harness))["maxPods"] == 10

    run(test())


def test_the_last_of_many_quick_changes_is_in_force(node):
    async def test():
        async with node.running() as harness:
            for pods in range(11, 111):
                node.write(f"maxPods: {pods}\n")
                await asyncio.sleep(0)
            await changed(harness)
            await harness.advance(2)
            assert (await effective(harness))["maxPods"] == 110
            assert refreshed(node.load()).config.maxPods == 110
            assert len(list((node.directory / "root/troupelet/config").glob("*.json"))) <= 25

    run(test())


def test_flagz_has_the_flags_and_the_feature_gates(node):
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
            names = [s.labels["node"] for s in samples if s.name == "kubelet_node_name"]
            assert names == [harness.actor.context.node_name]

    run(test())


def test_a_file_behind_links_is_read_again_when_any_link_is_replaced(node):
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
        async with node.running() as harness:
            assert (await effective(harness))["maxPods"] == 20
            (far / "..new").symlink_to("..2")
            (far / "..new").rename(far / "..data")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 30
            (far / "..2" / "kubelet.yaml").write_text(f"{HEADER}maxPods: 40\n")
            await changed(harness)
            assert (await effective(harness))["maxPods"] == 40

    run(test())
