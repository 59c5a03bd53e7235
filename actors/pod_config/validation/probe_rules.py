"""The API's rules for probes and lifecycle hooks (API reference, Probe and Lifecycle v1 core)."""

from __future__ import annotations

from actors.shared.kube.container import Container
from actors.shared.kube.handlers import Action, LifecycleHandler, Probe, ProbeHandler

from .field_check import FieldCheck


def check_probe(probe: Probe, name: str, container: Container, check: FieldCheck) -> None:
    """`name` is livenessProbe, readinessProbe or startupProbe."""
    _check_actions(probe, ProbeHandler, container, check)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        check.at(field).between(getattr(probe, field), 0, (1 << 31) - 1)
    if name != "readinessProbe" and probe.successThreshold > 1:
        check.at("successThreshold").fail("must be 1")
    if probe.terminationGracePeriodSeconds is not None:
        if name == "readinessProbe":
            check.at("terminationGracePeriodSeconds").fail("not for a readiness probe")
        check.at("terminationGracePeriodSeconds").between(probe.terminationGracePeriodSeconds, 1)


def check_handler(handler: LifecycleHandler, container: Container, check: FieldCheck) -> None:
    """A postStart or preStop hook."""
    _check_actions(handler, LifecycleHandler, container, check)


def _check_actions(
    holder: ProbeHandler | LifecycleHandler,
    shape: type[ProbeHandler | LifecycleHandler],
    container: Container,
    check: FieldCheck,
) -> None:
    """`shape`: a struct whose fields are the actions; exactly one must be set."""
    names = shape.__struct_fields__
    given: dict[str, Action] = {name: action for name in names if (action := getattr(holder, name)) is not None}
    check.exactly_one(given, f"one of {', '.join(names)}")
    ports = {port.name for port in container.ports}
    for name, action in given.items():
        for field, problem in action.problems(ports):
            check.at(name).at(field).fail(problem)
