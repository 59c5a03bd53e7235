from actors.shared.config.feature_gates import GATES, all_states, enabled


def test_the_gates_of_1_36_are_known_with_stage_default_and_lock():
    assert len(GATES) == 129 + 1
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


def test_the_state_of_every_gate_is_its_default_unless_told_otherwise():
    states = all_states({"PodsAPI": True})
    assert {name for name, gate in GATES.items() if states[name] != gate.default} == {"PodsAPI"}
