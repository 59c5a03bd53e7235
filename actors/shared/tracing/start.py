"""Gives an actor its tracer. Without configured tracing nothing is imported or opened, and no timer runs."""

from __future__ import annotations

from actors.shared.config.fields.groups import Tracing
from supervision.actor import Actor

from .tracer import OFF, Tracer

SERVICE = "kubelet"


def start_tracer(actor: Actor, tracing: Tracing | None, node_name: str) -> Tracer:
    """`tracing` is KubeletConfiguration.tracing. Call it in `on_start`: it sets a timer."""
    if tracing is None:
        return OFF
    from actors.shared.config.version import KUBERNETES_VERSION

    from .exporter import DEFAULT_ENDPOINT, EVERY_SECONDS, Exporter, Source
    from .sampling import bound_of
    from .tracer import RecordingTracer

    resource = {"service.name": SERVICE, "service.instance.id": node_name, "host.name": node_name}
    source = Source(resource, actor.name, KUBERNETES_VERSION)
    exporter = Exporter(tracing.endpoint or DEFAULT_ENDPOINT, source, actor.metrics, actor.log)
    actor.every(EVERY_SECONDS, exporter.flush, jitter=0.1)
    return RecordingTracer(bound_of(tracing.samplingRatePerMillion), exporter.queue.add)
