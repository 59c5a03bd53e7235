"""Which containers are started again after which exit."""

from __future__ import annotations

import pytest

from actors.shared.kube.container import Container, ContainerRestartRule, ExitCodes
from actors.shared.kube.pod import Pod, PodSpec
from actors.shared.kube.restart_policy import RESTART_ALL, can_restart_all, init_exit_code, may_restart, rule_for


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


def test_a_rule_without_exit_codes_fits_no_exit():
    rules = [ContainerRestartRule(action="Restart"), rule(RESTART_ALL, "In", 3)]
    assert rule_for(Container(name="a", restartPolicyRules=rules), 3) == RESTART_ALL


@pytest.mark.parametrize(
    ("code", "reason", "effective"),
    [(0, "OOMKilled", 137), (0, "Completed", 0), (1, "OOMKilled", 1), (143, "OOMKilled", 143), (2, "Error", 2)],
)
def test_an_init_container_that_lost_a_process_to_the_oom_killer_has_failed(code, reason, effective):
    assert init_exit_code(code, reason) == effective


def test_a_pod_restarts_all_if_any_of_its_containers_has_such_a_rule():
    plain = Container(name="a", restartPolicyRules=[rule("Restart", "In", 3)])
    other = Container(name="b", restartPolicyRules=[rule("Restart", "In", 3), rule(RESTART_ALL, "In", 4)])
    assert not can_restart_all(Pod(spec=PodSpec(containers=[plain], initContainers=[plain])))
    assert can_restart_all(Pod(spec=PodSpec(containers=[plain, other])))
    assert can_restart_all(Pod(spec=PodSpec(containers=[plain], initContainers=[other])))
