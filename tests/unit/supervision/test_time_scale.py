"""The factor of all deadlines: found by a measurement, or given."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest

from supervision import time_scale
from supervision.fork_server.policies import Policies
from supervision.process.actor_runner import is_logged
from supervision.spec import ChildSpec, Policy
from supervision.supervisor.policy_rules import wrong_policies


@pytest.fixture(autouse=True)
def unscaled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(time_scale.VARIABLE, raising=False)
    yield
    time_scale.use(1.0)


def test_an_ordinary_machine_keeps_the_deadlines_and_a_slow_one_stretches_them() -> None:
    reference = time_scale.REFERENCE_SECONDS
    found = [time_scale.factor_of(times * reference) for times in (0.5, 1.0, 2.0, 3.1, 10.0, 500.0)]
    assert found == [1.0, 1.0, 1.0, 3.0, 10.0, time_scale.MOST]


def test_a_given_factor_overrides_the_measured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_scale, "_measure", lambda: 10 * time_scale.REFERENCE_SECONDS)
    assert time_scale.find()[0] == 10.0
    monkeypatch.setenv(time_scale.VARIABLE, "3")
    assert time_scale.find() == (3.0, "deadlines are multiplied by 3: SUPERVISION_TIME_SCALE says so")


def test_only_the_own_time_on_a_processor_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 5 * time_scale.REFERENCE_SECONDS)
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    assert time_scale.find()[0] == 5.0


@pytest.mark.parametrize("given", ["fast", "0", "-1", "1000", "nan"])
def test_a_wrong_factor_is_reported_and_ignored(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(time_scale.VARIABLE, given)
    factor, text = time_scale.find()
    assert factor == 1.0
    assert "must be a number from 1 to 100" in text


def test_the_deadlines_of_the_policy_are_stretched_and_its_pauses_and_limits_are_not() -> None:
    time_scale.use(4.0)
    given = Policy(start_seconds=10, shutdown_seconds=5, heartbeat_seconds=2, busy_seconds=1, backoff_seconds=1)
    policies = Policies(ChildSpec(name="root"), {"root": given})
    found = policies.by_name["root"]
    assert (found.start_seconds, found.shutdown_seconds, found.heartbeat_seconds) == (40, 20, 8)
    assert (found.busy_seconds, found.backoff_seconds, found.memory_mib) == (4, 1, given.memory_mib)
    policies.update({"root": given})
    assert policies.by_name["root"] == found


def test_a_stretched_deadline_stays_within_the_limit_of_policies() -> None:
    time_scale.use(20.0)
    policies = Policies(ChildSpec(name="root"), {"root": Policy(start_seconds=3600, shutdown_seconds=3600)})
    assert wrong_policies(policies.by_name) == ""


def test_a_slow_machine_warns_of_no_step_that_is_ordinary_there() -> None:
    assert [is_logged(0.9), is_logged(1.1)] == [False, True]
    time_scale.use(10.0)
    assert [is_logged(9.0), is_logged(11.0)] == [False, True]
