import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.config_controller.consumers import ENGINE, RESTART, UNREAD, can_change, consumers_of, effect_of, outcome
from actors.config_controller.in_force import InForce, differing
from actors.pleg.messages import PLEG
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.tree import RELATIONS, declarations, tree

CONSUMERS = RELATIONS.consumers
FIELDS = KubeletConfiguration.__struct_fields__
RUNNING = KubeletConfiguration()
BEFORE = InForce(running=RUNNING, desired=RUNNING)


def other(**fields):
    return msgspec.structs.replace(RUNNING, **fields)


def test_every_field_has_consumers_or_waits_for_a_restart_or_is_unread():
    read = {field for fields in CONSUMERS.values() for field in fields}
    assert set(FIELDS) == read | RESTART | UNREAD | ENGINE
    assert read & RESTART == read & UNREAD == RESTART & UNREAD == set()


def test_a_field_can_change_unless_it_is_read_before_the_actors_start():
    assert consumers_of(["syncFrequency"], CONSUMERS, workers=1) == ("volume_manager", "pod_workers/worker/0", "prober")
    assert can_change("syncFrequency")
    assert can_change("hairpinMode")
    assert not can_change("podLogsDir")


def test_the_actors_that_read_a_changed_field_restart():
    after, _ = BEFORE.changed_to(other(maxPods=5, syncFrequency=RUNNING.fileCheckFrequency), CONSUMERS, workers=2)
    workers = ("pod_workers/worker/0", "pod_workers/worker/1")
    assert after.to_restart == ("container_manager", "volume_manager", *workers, "prober")
    done = ("pod_workers/worker/1", "volume_manager", "container_manager", "prober")
    assert after.restarted(done).to_restart == ("pod_workers/worker/0",)
    assert BEFORE.changed_to(other(hairpinMode="none"), CONSUMERS, workers=2)[0].to_restart == ()


def test_fields_that_can_change_at_run_time_change_and_the_others_wait_for_a_restart():
    after, changed = BEFORE.changed_to(other(maxPods=5, oomScoreAdj=0), CONSUMERS, workers=1)
    assert (changed, after.running.maxPods, after.running.oomScoreAdj) == (("maxPods",), 5, -999)
    assert after.waiting == ("oomScoreAdj",)


def test_a_field_that_no_actor_of_this_tree_reads_is_without_effect():
    standalone = tree(Agent()).children
    (controller,) = [child for child in standalone if child.name == "config_controller"]
    consumers = controller.arguments["consumers"]
    after, _ = BEFORE.changed_to(
        other(nodeStatusMaxImages=7, port=10251, maxPods=5, registerNode=False), consumers, workers=1
    )
    assert after.outcome == (
        "acts: port (http_servers/node_server), maxPods (container_manager); "
        "without effect: registerNode, nodeStatusMaxImages"
    )
    assert after.waiting == (), "nothing that runs here would read them after a restart, either"
    assert effect_of("nodeStatusMaxImages", CONSUMERS, RELATIONS.optional).endswith(
        "; without api_clients/heartbeat_client it has no effect"
    )


@pytest.mark.parametrize("field", ["registerNode", "registerWithTaints"])
def test_how_the_node_registers_waits_for_a_restart_in_a_cluster_only(field):
    assert not can_change(field, consumers=CONSUMERS)
    assert can_change(field, consumers={PLEG: ("syncFrequency",)})
    assert effect_of(field, CONSUMERS).endswith("keep running; without api_clients/heartbeat_client it has no effect")


def test_a_port_of_a_missing_server_waits_for_a_restart():
    after, changed = BEFORE.changed_to(other(readOnlyPort=10255), CONSUMERS, workers=1)
    assert (changed, after.running.readOnlyPort, after.waiting, after.to_restart) == ((), 0, ("readOnlyPort",), ())
    served = other(readOnlyPort=10255)
    there = InForce(running=served, desired=served)
    after, changed = there.changed_to(RUNNING, CONSUMERS, workers=1)
    assert (changed, after.running.readOnlyPort, after.waiting) == ((), 10255, ("readOnlyPort",))
    after, changed = there.changed_to(other(readOnlyPort=10256), CONSUMERS, workers=1)
    assert (changed, after.to_restart, after.waiting) == (("readOnlyPort",), ("http_servers/read_only_server",), ())


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        ({"cpuManagerPolicy": "none"}, ()),
        ({"cpuManagerPolicy": "static"}, ("reservedSystemCPUs", "systemReserved")),
        ({"memoryManagerPolicy": "Static"}, ("evictionHard", "reservedSystemCPUs", "systemReserved")),
    ],
)
def test_changed_reservations_wait_for_a_restart_while_pods_hold_hardware(policy, waits):
    running = other(**policy, reservedSystemCPUs="0", systemReserved={"cpu": "1"})
    before = InForce(running=running, desired=running)
    after, changed = before.changed_to(other(maxPods=5, evictionHard={"memory.available": "1Gi"}), CONSUMERS, workers=1)
    fields = {"maxPods", "evictionHard", "reservedSystemCPUs", "systemReserved"}
    assert set(changed) == fields - set(waits)
    assert {field for field in after.waiting if field in fields} == set(waits)
    assert all(getattr(after.running, field) == getattr(running, field) for field in waits)


def test_no_change_makes_or_ends_an_actor_while_the_agent_runs():
    """What decides whether an actor exists waits for a restart."""
    everything = other(readOnlyPort=10255, shutdownGracePeriod=Duration(1))
    for running in (RUNNING, everything, other(enableServer=False)):
        for desired in (RUNNING, everything, other(enableServer=False)):
            after, _ = InForce(running=running, desired=running).changed_to(desired, CONSUMERS, workers=1)
            before = {one.name for one in declarations() if one.names(Agent(config=running))}
            assert {one.name for one in declarations() if one.names(Agent(config=after.running))} == before


def test_every_field_documents_the_effect_of_its_change():
    texts = {field: effect_of(field, CONSUMERS) for field in FIELDS}
    assert {field for field, text in texts.items() if text.startswith("waits")} == RESTART
    assert {field for field, text in texts.items() if text.startswith("has no effect")} == UNREAD
    assert all("acts at once" in texts[field] for field in set(FIELDS) - RESTART - UNREAD)
    assert "container_manager restarts" in texts["maxPods"]
    assert "from or to 0 it waits" in texts["readOnlyPort"]
    assert "with a static policy of CPUs or memory it waits" in texts["reservedSystemCPUs"]
    assert "with memoryManagerPolicy: Static it waits" in texts["evictionHard"]


def test_the_history_separates_applied_waiting_and_unread_fields():
    assert outcome(["maxPods", "logging", "hairpinMode"], ["oomScoreAdj"], CONSUMERS) == (
        "acts: maxPods (container_manager), logging; waits for a restart: oomScoreAdj; without effect: hairpinMode"
    )
    assert outcome([], [], CONSUMERS) == ""


def test_the_cgroup_driver_of_the_runtime_wins_over_later_configurations():
    after = BEFORE.with_cgroup_driver("systemd")
    later, changed = after.changed_to(other(cgroupDriver="cgroupfs", maxPods=5), CONSUMERS, workers=1)
    assert (later.running.cgroupDriver, changed, later.waiting) == ("systemd", ("maxPods",), ())


@given(st.integers(0, 500), st.integers(1, 600))
def test_every_changed_field_gets_its_desired_value(pods, seconds):
    desired = other(maxPods=pods, nodeLeaseDurationSeconds=seconds, failSwapOn=False)
    after, changed = BEFORE.changed_to(desired, CONSUMERS, workers=2)
    assert set(differing(RUNNING, after.running)) == set(changed)
    assert set(after.waiting) == set(differing(RUNNING, desired)) - set(changed)
