"""The policy file that is installed, against the default policies that the actors declare."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from actors.container_runtime.declaration import POLICY
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.tree import OPTIONAL, RELATIONS, tree
from supervision.spec import SUPERVISOR_POLICY, SUPERVISOR_SETTINGS, ChildSpec, Policy, walk
from supervision.supervisor.policy import load_text
from supervision.supervisor.policy_file import read_text
from supervision.supervisor.policy_rules import RULES, SUPERVISORS_ONLY, wrong_policies

TEXT = (Path(__file__).parents[2] / "etc" / "supervision.yaml").read_text()
SHOWN = re.sub(r"^( *)#(?=\S)", r"\1", TEXT, flags=re.M)
"""The file with its defaults no longer commented out."""
RUNTIME = ChildSpec(name=CONTAINER_RUNTIME, program=("containerd",), policy=POLICY)
WHOLE = tree(Agent(config=KubeletConfiguration(readOnlyPort=10255, shutdownGracePeriod=Duration(1))), RUNTIME)
DECLARED = {name: spec.default_policy for name, _, spec in walk(WHOLE)}


def test_the_shipped_policy_file_overrides_nothing() -> None:
    assert read_text(TEXT, "supervision.yaml").data == {"version": 1}
    assert load_text(TEXT, "supervision.yaml", WHOLE, OPTIONAL) == DECLARED


def test_the_defaults_that_it_shows_are_those_in_force_without_it() -> None:
    assert load_text(SHOWN, "supervision.yaml", WHOLE, OPTIONAL) == DECLARED


def test_the_shipped_policy_file_shows_every_setting_and_each_declared_policy() -> None:
    shown = read_text(SHOWN, "supervision.yaml").data
    assert {field: getattr(Policy(), field) for field in shown["defaults"]} == shown["defaults"]
    assert shown["supervisors"].items() >= SUPERVISOR_SETTINGS.items()
    assert {field: getattr(SUPERVISOR_POLICY, field) for field in shown["supervisors"]} == shown["supervisors"]
    assert {*shown["defaults"], *shown["supervisors"]} == set(RULES)
    assert set(shown["supervisors"]) >= SUPERVISORS_ONLY
    declared = {str(name): settings for name, settings in RELATIONS.policies.items() if settings}
    for pattern, values in shown["actors"].items():
        matched = [name for name in declared if fnmatchcase(name, pattern)]
        assert matched, pattern
        assert [declared.pop(name) for name in matched] == [values] * len(matched), pattern
    assert declared == {}


def test_every_declared_policy_is_valid() -> None:
    assert wrong_policies(DECLARED) == ""


@pytest.mark.parametrize("name", [name for name, _, _ in walk(WHOLE)])
def test_the_config_controller_has_each_default_policy(name: str) -> None:
    """It validates a changed file against the running tree, which has names and no declarations."""
    spec = next(spec for full, _, spec in walk(WHOLE) if full == name)
    patterns = [pattern for pattern in RELATIONS.policies if fnmatchcase(name, pattern)]
    assert [RELATIONS.policies[pattern] for pattern in patterns] == [spec.policy]
