"""Fields whose gate is off have no effect on this node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.pod_config.pods.config_seen import SeenTimes


def rule(action: str) -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": "In", "values": [3]}}


RULES = [rule("RestartAllContainers"), rule("Restart")]
POD = {
    "spec": {
        "hostnameOverride": "other",
        "initContainers": [
            {"name": "once", "restartPolicy": "Never", "restartPolicyRules": RULES},
            {"name": "side", "restartPolicy": "Always"},
        ],
        "containers": [
            {
                "name": "main",
                "restartPolicy": "Always",
                "restartPolicyRules": RULES,
                "env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}}],
            }
        ],
    }
}


def spec(*off: str) -> dict[str, Any]:
    seen = SeenTimes(lambda gate: gate not in off)
    found: dict[str, Any] = msgspec.json.decode(seen.api("u", msgspec.json.encode(POD)))["spec"]
    return found


def actions(found: dict[str, Any], where: str) -> list[str]:
    return [one["action"] for one in found[where][0]["restartPolicyRules"]]


def test_with_all_gates_on_a_pod_stays_as_it_is():
    assert spec() == POD["spec"]


def test_without_host_name_override_the_pod_has_its_own_name():
    assert "hostnameOverride" not in spec("HostnameOverride")


def test_without_env_files_such_a_variable_is_empty():
    assert spec("EnvFiles")["containers"][0]["env"] == [{"name": "A"}]


def test_without_restart_rules_a_container_has_the_policy_of_its_pod_and_a_sidecar_stays_one():
    found = spec("ContainerRestartRules", "RestartAllContainersOnContainerExits", "NodeDeclaredFeatures")
    init = [one.get("restartPolicy") for one in found["initContainers"]]
    assert (init, "restartPolicy" in found["containers"][0]) == ([None, "Always"], False)
    assert (actions(found, "containers"), actions(found, "initContainers")) == ([], [])


@pytest.mark.parametrize(
    ("off", "left"),
    [
        (["RestartAllContainersOnContainerExits"], ["RestartAllContainers", "Restart"]),
        (["RestartAllContainersOnContainerExits", "NodeDeclaredFeatures"], ["Restart"]),
        (["RestartAllContainersOnContainerExits", "ContainerRestartRules"], ["RestartAllContainers"]),
    ],
)
def test_rules_that_restart_all_stay_only_where_admission_refuses_the_pod_by_them(off, left):
    assert actions(spec(*off), "containers") == left
