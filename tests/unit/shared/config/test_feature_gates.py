from actors.shared.config.feature_gate_table import DEPENDENCIES, NODE_GATES, OTHER_GATES
from actors.shared.config.feature_gates import GATES, all_states, broken_dependencies, enabled


def test_the_gates_of_1_36_are_known_with_stage_default_and_lock():
    assert len(NODE_GATES) == 129 + 1
    assert GATES["SidecarContainers"] == ("GA", True, True)
    assert GATES["EventedPLEG"] == ("Alpha", False, False)
    assert GATES["DynamicKubeletConfig"].default is False


def test_the_group_gates_switch_their_stage_but_not_what_is_named_or_locked():
    overrides = {"AllAlpha": True, "EventedPLEG": False, "AllBeta": False}
    assert enabled("PodsAPI", overrides)
    assert not enabled("EventedPLEG", overrides)
    assert not enabled("ContainerCheckpoint", overrides)
    assert enabled("DRAAdminAccess", overrides)
    assert enabled("InformerResourceVersion", {"AllAlpha": False, "AllBeta": False})


def test_every_gate_has_its_default_unless_set():
    states = all_states({"PodsAPI": True})
    assert {name for name, gate in GATES.items() if states[name] != gate.default} == {"PodsAPI"}


def test_gates_of_the_other_components_are_known_and_none_twice():
    assert GATES["MutatingAdmissionPolicy"].default
    assert not GATES["GangScheduling"].default
    assert NODE_GATES.keys() & OTHER_GATES.keys() == set()


NEWEST = (
    "AllowServiceExternalIPs ControllerManagerReleaseLeaderElectionLockOnExit DRAListTypeAttributes "
    "DRAResourcePoolStatus ManifestBasedAdmissionControlConfig PersistentVolumeClaimUnusedSinceTime "
    "ShardedListAndWatch TopologyAwareWorkloadScheduling WorkloadAwarePreemption WorkloadWithJob"
)
"""Gates that came with 1.36, none of them the kubelet's: a configuration for a whole cluster may have them."""


def test_the_gates_that_came_last_are_known_as_in_the_release():
    on = {name for name in NEWEST.split() if GATES[name].default}
    assert on == {"AllowServiceExternalIPs"}
    assert (GATES["CRDObservedGenerationTracking"].default, GATES["MaxUnavailableStatefulSet"].default) == (True, False)


def test_gates_that_the_release_has_removed_are_unknown():
    assert not {"HonorPVReclaimPolicy", "InPlacePodVerticalScalingAllocatedStatus"} & GATES.keys()
    assert GATES["ServiceCIDRStatusFieldWiping"] == ("Deprecated", True, False)


def test_gates_that_need_declared_features_cannot_stay_on_without_them():
    broken = {name for name, _ in broken_dependencies({"NodeDeclaredFeatures": False})}
    assert {"InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"} <= broken
    (host,) = (
        needed
        for name, needed in broken_dependencies(
            {"NodeDeclaredFeatures": False, "UserNamespacesHostNetworkSupport": True}
        )
        if name == "UserNamespacesHostNetworkSupport"
    )
    assert host == ("NodeDeclaredFeatures",)


def test_every_gate_of_a_dependency_is_known_and_the_defaults_break_none():
    assert {name for names in DEPENDENCIES.items() for name in (names[0], *names[1])} <= GATES.keys()
    assert list(broken_dependencies({})) == []


def test_a_gate_that_is_on_needs_those_that_it_depends_on():
    assert list(broken_dependencies({"GracefulNodeShutdown": False, "WindowsGracefulNodeShutdown": False})) == [
        ("GracefulNodeShutdownBasedOnPodPriority", ("GracefulNodeShutdown",))
    ]
    off = {"GracefulNodeShutdown": False, "GracefulNodeShutdownBasedOnPodPriority": False}
    assert list(broken_dependencies({**off, "WindowsGracefulNodeShutdown": False})) == []
    assert list(broken_dependencies({"NoSuchGate": True})) == []
