"""Spans of what a worker does with a pod: names and attributes are the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pod_worker import PodDriver

GARBAGE = "Containers/GarbageCollect"


@contextmanager
def of_pod(driver: PodDriver, name: str, update_type: str = "") -> Iterator[None]:
    """A step of a pod. Exceptions and what is to be tried again are its failure; that the pod is to end meanwhile is
    none. `update_type`: create, update or sync."""
    from .pod_worker import Left

    tracer = driver.worker.tracer
    failures, held = driver.failures, driver.held
    span = tracer.start(name, _about(driver, update_type))
    with tracer.around(span, expected=(Left,)):
        yield
        trouble = _trouble(driver, failures, held)
        if trouble:
            span.fail(trouble)


@contextmanager
def of_garbage(driver: PodDriver) -> Iterator[None]:
    """The removal of dead containers and sandboxes."""
    with driver.worker.tracer.span(GARBAGE, _about(driver)):
        yield


def _about(driver: PodDriver, update_type: str = "") -> dict[str, str]:
    pod, known = driver.pod, driver.runtime
    namespace, name = (
        (pod.metadata.namespace, pod.metadata.name)
        if pod is not None
        else (known.namespace, known.name)
        if known is not None
        else ("", "")
    )
    about = {
        "k8s.pod.uid": driver.uid,
        "k8s.pod": f"{namespace}/{name}",
        "k8s.pod.name": name,
        "k8s.namespace.name": namespace,
    }
    return about | {"k8s.pod.update_type": update_type} if update_type else about


def _trouble(driver: PodDriver, failures: int, held: Mapping[str, float]) -> str:
    """What could not be made since then, or why the step is tried again."""
    fresh = [name for name, until in driver.held.items() if held.get(name) != until]
    told = [(name, driver.waiting[name]) for name in fresh if name in driver.waiting]
    text = "; ".join(f"{name}: {why.reason}: {why.message}" for name, why in told)
    return text or (driver.trouble if driver.failures > failures else "")
