"""Whether a container is started and ready, from its probes and from what was known before."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container
from actors.shared.kube.handlers import Probe
from actors.status_manager.containers.container_status_input import Readiness
from actors.status_manager.messages import ProbeResult
from actors.status_manager.readiness.readiness_table import OLD_NS, ReadinessInput, readiness

BEGAN = 10**18
PROBES: dict[str, dict[str, Any]] = {"readiness": {"readinessProbe": Probe()}, "startup": {"startupProbe": Probe()}}
BOTH = {**PROBES["readiness"], **PROBES["startup"]}


def found(
    probes: dict[str, Any],
    results: dict[Literal["readiness", "startup", "liveness"], bool],
    *,
    before: Readiness | None = None,
    age_ns: int = 0,
    probed: str = "c1",
) -> tuple[bool, bool]:
    """(started, ready). `probed`: the id of the container that the results are of."""
    container = Container(name="a", **probes)
    ran = CriContainer(id="c1", name="a", pod_uid="u", state=CriContainerState.RUNNING, started_ns=BEGAN - age_ns)
    by_kind: dict[tuple[str, str], ProbeResult] = {}
    for kind, good in results.items():
        by_kind["a", kind] = ProbeResult("u", "a", probed, kind, good)
    now = readiness(container, ran, ReadinessInput(by_kind, before, BEGAN))
    return now.started, now.ready


@pytest.mark.parametrize(
    ("probes", "results", "expected"),
    [
        ({}, {}, (True, True)),
        (PROBES["readiness"], {}, (True, False)),
        (PROBES["readiness"], {"readiness": True}, (True, True)),
        (PROBES["startup"], {}, (False, False)),
        (PROBES["startup"], {"startup": True}, (True, True)),
        (BOTH, {"readiness": True}, (False, False)),
        (BOTH, {"startup": True, "readiness": False}, (True, False)),
        (BOTH, {"startup": True, "readiness": True}, (True, True)),
    ],
)
def test_a_container_is_ready_by_its_probe_results(probes, results, expected):
    assert found(probes, results) == expected


def test_a_result_of_the_instance_before_does_not_count():
    assert found(BOTH, {"startup": True, "readiness": True}, probed="c0") == (False, False)


def test_a_container_keeps_its_known_readiness_until_it_is_probed():
    assert found(BOTH, {}, before=Readiness(started=True, ready=True)) == (True, True)
    assert found(BOTH, {"readiness": False}, before=Readiness(started=True, ready=True)) == (True, False)


def test_a_container_much_older_than_the_agent_counts_as_ready():
    assert found(BOTH, {}, age_ns=OLD_NS + 1) == (True, True)
    assert found(BOTH, {}, age_ns=OLD_NS) == (False, False)
    assert found(BOTH, {}, age_ns=OLD_NS + 1, before=Readiness(started=True, ready=False)) == (True, False)
