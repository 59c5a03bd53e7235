"""Which containers are started again after which exit."""

from __future__ import annotations

import pytest

from actors.shared.kube.container import Container, ContainerRestartRule, ExitCodes
from actors.shared.kube.pod import Pod, PodSpec
from actors.shared.kube.restart_policy import RESTART_ALL, may_restart, rule_for


def rule(action: str, operator: str, *codes: int) -> ContainerRestartRule:
    return ContainerRestartRule(action=action, exitCodes=ExitCodes(operator=operator, values=list(codes)))


@pytest.mark.parametrize(
    ("policy", "code", "regular", "init"),
    [
        ("Always", 0, True, False),
        ("Always", 1, True, True),
        ("OnFailure", 0, False, False),
        ("OnFailure", 1, True, True),
        ("Never", 1, False, False),
    ],
)
def test_the_pods_policy_and_the_exit_decide(policy, code, regular, init):
    pod, container = Pod(spec=PodSpec(restartPolicy=policy)), Container(name="a")
    assert may_restart(pod, container, code, init=False) is regular
    assert may_restart(pod, container, code, init=True) is init


def test_the_restart_policy_of_a_container_overrides_that_of_its_pod():
    container = Container(name="a", restartPolicy="Never")
    assert not may_restart(Pod(spec=PodSpec(restartPolicy="Always")), container, 1, init=False)


def test_a_sidecar_is_always_started_again():
    container = Container(name="a", restartPolicy="Always")
    assert may_restart(Pod(spec=PodSpec(restartPolicy="Never")), container, 0, init=True)


def test_the_first_rule_that_fits_the_exit_goes_before_the_policy():
    rules = [rule("Restart", "In", 3), rule(RESTART_ALL, "NotIn", 0, 4)]
    container = Container(name="a", restartPolicy="Never", restartPolicyRules=rules)
    assert [rule_for(container, code) for code in (3, 5, 0, 4)] == ["Restart", RESTART_ALL, "", ""]
    pod = Pod(spec=PodSpec(restartPolicy="Never"))
    assert [may_restart(pod, container, code, init=False) for code in (3, 5, 0)] == [True, True, False]
