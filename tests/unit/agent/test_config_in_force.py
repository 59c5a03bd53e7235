"""What `config show` says of an agent whose files say something else by now."""

from __future__ import annotations

from actors.agent.config_in_force import notes, rows
from actors.config_controller.messages import Flagz

SOURCES = {"maxPods": "/c.yaml:3", "cgroupRoot": "/c.yaml:4"}


def test_a_value_that_waits_for_a_restart_is_not_shown_as_in_force() -> None:
    assigned = [("maxPods", 5), ("cgroupRoot", "/new"), ("podCIDR", "")]
    assert list(rows(assigned, {"maxPods": 5}, SOURCES, ("cgroupRoot",))) == [
        ("maxPods", 5, "/c.yaml:3"),
        ("cgroupRoot", "", 'until a restart; then "/new" (/c.yaml:4)'),
        ("podCIDR", "", "default"),
    ]


def test_a_zero_that_is_in_force_is_shown_though_the_api_leaves_it_out() -> None:
    assigned = [("readOnlyPort", 10255), ("podsPerCore", 0)]
    assert list(rows(assigned, {}, {}, ("readOnlyPort",))) == [
        ("readOnlyPort", 0, "until a restart; then 10255 (default)"),
        ("podsPerCore", 0, "default"),
    ]


def test_the_cgroup_driver_is_the_one_of_the_runtime() -> None:
    found = rows([("cgroupDriver", "cgroupfs")], {"cgroupDriver": "systemd"}, {}, ())
    assert list(found) == [("cgroupDriver", "systemd", 'the runtime; default: "cgroupfs"')]


def test_a_rollback_and_a_config_map_are_reported_first() -> None:
    flagz = Flagz({}, (), {}, "v", waiting=("port",), refused=("b is assigned, a is in force",), source="configmap n/c")
    assert list(notes(flagz)) == [
        "from configmap n/c of the API server, which takes the place of the file",
        "what is assigned is not in force, what follows is: b is assigned, a is in force",
        "the agent must be restarted before these change: port",
    ]
    assert list(notes(Flagz({}, (), {}, "v"))) == []
