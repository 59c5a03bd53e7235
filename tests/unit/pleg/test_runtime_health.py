"""The runtime's health, and the report of it for the node's Ready condition."""

from __future__ import annotations

import pytest

from actors.pleg.runtime_health import (
    CONDITION,
    NETWORK,
    RuntimeAnswers,
    answered,
    listed,
    report,
    troubles,
    unlisted,
    unreachable,
    with_version,
    without_version,
)
from actors.shared.cri.model import RuntimeHandler, RuntimeStatus, RuntimeVersion
from actors.shared.cri.remedies import RuntimeRemedies
from supervision.process_messages import ServiceState

WELL = RuntimeStatus(runtime_ready=True, network_ready=True, handlers=[RuntimeHandler(name="runc")])


def test_a_runtime_that_was_not_queried_is_not_ready():
    assert (RuntimeAnswers().health.ready, report(RuntimeAnswers(), 0.0).ready_at) == (False, 0.0)


def test_the_time_of_readiness_stays_while_it_is_not_ready():
    ready = answered(RuntimeAnswers(), WELL, 5.0)
    ill = answered(ready, RuntimeStatus(network_ready=True, message="m", runtime_message="m"), 9.0)
    silent = unreachable(ill, "no answer")
    assert [state.ready_at for state in (ready, ill, silent)] == [5.0, 5.0, 5.0]
    assert [state.health.ready for state in (ready, ill, silent)] == [True, False, False]
    assert report(ill, 8.0).runtime_error == "m"
    assert silent.health.message == "no answer"


def test_a_runtime_that_lists_nothing_is_not_ready_whatever_it_answers():
    """Or the workers, and the log, would see it ready and not ready in turn."""
    state = unlisted(answered(RuntimeAnswers(), WELL, 1.0), "the list is too large")
    for _ in range(2):
        assert (state.health.ready, state.health.message) == (False, "the list is too large")
        state = answered(state, WELL, 2.0)
    assert answered(listed(state), WELL, 3.0).health.ready
    silent = unlisted(unreachable(state, "no answer"), "nor a list")
    assert silent.health.message == "no answer", "the first reason stays"


def test_the_version_is_forgotten_with_silence_and_the_handlers_are_not():
    state = with_version(
        answered(RuntimeAnswers(), WELL, 1.0), RuntimeVersion(name="cri", version="2", api_version="v1")
    )
    assert report(state, 1.0).version == "cri://2"
    silent = report(unreachable(without_version(state), "x"), 1.0)
    assert (silent.version, [handler.name for handler in silent.handlers]) == ("", ["runc"])


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.6.20~ds1", "1.6.20"),
        ("v1.7.24", "1.7.24"),
        ("2.1.0-rc.1+k3s2", "2.1.0-rc.1+k3s2"),
        ("24.0", "24.0"),
        ("1.2.3.4-5", "1.2.3.4"),
        ("unreleased", "unreleased"),
    ],
)
def test_the_runtime_is_named_by_its_version_without_what_a_distribution_appends(version: str, said: str):
    """As the kubelet's: what compares versions of nodes reads semantic ones, or numbers with dots."""
    state = with_version(RuntimeAnswers(), RuntimeVersion(name="containerd", version=version, api_version="v1"))
    assert report(state, 1.0).version == f"containerd://{said}"


@pytest.mark.parametrize(
    ("status", "condition", "network"),
    [
        (RuntimeStatus(runtime_ready=True, network_ready=True, message="m"), "", ""),
        (
            RuntimeStatus(runtime_message="r", network_message="n", message="m"),
            "r",
            "not ready: n",
        ),
        (RuntimeStatus(message="m"), "m", "not ready: m"),
        (RuntimeStatus(), "it is not ready", "not ready: it is not ready"),
    ],
)
def test_a_condition_that_is_not_met_is_a_trouble_with_its_reason_and_what_mends_it(
    status: RuntimeStatus, condition: str, network: str
):
    remedies = RuntimeRemedies("unix:///run/x.sock", "/log")
    assert troubles(status, 3.0, remedies, "plugin") == (
        ServiceState(CONDITION, condition, 3.0, remedies.errors if condition else ""),
        ServiceState(NETWORK, network, 3.0, "plugin" if network else ""),
    )
