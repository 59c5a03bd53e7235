"""Every problem of flags, files and the supervision policy is named at once, before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent import start
from actors.agent.validation import load_with_all, policies, validate
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\nactors:\n  prober:\n    restart: never\n  pleg:\n    heartbeat_seconds: -1\n")
    return file


def test_each_wrong_setting_of_a_policy_is_named_with_its_line(policy: Path) -> None:
    _, problems = validate([f"--policy={policy}"])
    assert {(one.path, one.source) for one in problems} == {
        ("actors.prober.restart", f"{policy}:4"),
        ("actors.pleg.heartbeat_seconds", f"{policy}:6"),
    }


def test_a_valid_policy_sets_what_it_names_and_leaves_the_others_at_their_defaults(policy: Path) -> None:
    policy.write_text("version: 1\nactors:\n  prober:\n    backoff_max_seconds: 7\n")
    wrong: list[ConfigProblem] = []
    found = policies(Agent(policy_file=str(policy)), wrong)
    defaults = policies(Agent(), [])
    assert wrong == []
    assert found["prober"].backoff_max_seconds == 7
    assert {name for name in found if found[name] != defaults[name]} == {"prober"}


def test_a_wrong_policy_is_named_also_where_the_configuration_is_wrong(policy: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: -1\n")
    with pytest.raises(ConfigErrors) as refused:
        load_with_all([f"--policy={policy}", f"--config={config}"])
    assert {problem.path for problem in refused.value.problems} >= {"maxPods", "actors.prober.restart"}


def test_a_refused_start_names_each_error_and_their_number(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"--run-dir={tmp_path}/run"
    assert start.start([place, f"--policy={policy}", "--kubeconfig=/nowhere", "--max-pods=-1"]) == start.EXIT_REFUSED
    *errors, summary = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert all(line.startswith("error: ") for line in errors)
    assert summary == "troupelet does not start: 4 errors"
    assert start.start([place, "--max-pods=-1"]) == start.EXIT_REFUSED
    assert capsys.readouterr().err.splitlines()[-1] == "troupelet does not start: 1 error"
