"""Tracing spans of a pod worker; names and attributes are the kubelet's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from actors.pod_workers.pod.state import PodState

from .execution import EffectInterrupted, Execution

GARBAGE = "Containers/GarbageCollect"


@contextmanager
def of_phase(run: Execution, name: str, update_type: str = "") -> Iterator[None]:
    """The synchronization of a pod in one phase. Exceptions and retries mark it as failed; an interruption because the
    pod must end does not. `update_type`: create, update or sync; '' for none."""
    tracer, before = run.services.tracer, run.state
    span = tracer.start(name, _attributes(before, update_type))
    with tracer.around(span, expected=(EffectInterrupted,)):
        yield
        trouble = _trouble(before, run.state)
        if trouble:
            span.fail(trouble)


@contextmanager
def of_garbage(run: Execution) -> Iterator[None]:
    """The removal of dead containers and sandboxes."""
    with run.services.tracer.span(GARBAGE, _attributes(run.state)):
        yield


def _attributes(state: PodState, update_type: str = "") -> dict[str, str]:
    pod, runtime = state.wanted.pod, state.runtime
    namespace, name = "", ""
    if pod is not None:
        namespace, name = pod.metadata.namespace, pod.metadata.name
    elif runtime is not None:
        namespace, name = runtime.namespace, runtime.name
    attributes = {
        "k8s.pod.uid": state.uid,
        "k8s.pod": f"{namespace}/{name}",
        "k8s.pod.name": name,
        "k8s.namespace.name": namespace,
    }
    return attributes | {"k8s.pod.update_type": update_type} if update_type else attributes


def _trouble(before: PodState, after: PodState) -> str:
    """The failed starts since then, or the reason of the retry."""
    failures = [
        f"{name}: {one.waiting.reason}: {one.waiting.message}"
        for name, one in after.attempts.items()
        if one.not_before and one.waiting is not None and one.not_before != _not_before(before, name)
    ]
    return "; ".join(failures) or (after.retry.trouble if after.retry.failures > before.retry.failures else "")


def _not_before(state: PodState, name: str) -> float:
    attempt = state.attempts.get(name)
    return attempt.not_before if attempt is not None else 0.0
