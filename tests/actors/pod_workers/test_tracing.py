"""Spans of a pod's life in its pod worker."""

from __future__ import annotations

from pathlib import Path

from actors.image_manager.messages import EnsureImage
from actors.shared.tracing.sampling import MILLION, bound_of
from actors.shared.tracing.span import Span
from actors.shared.tracing.trace_context import read
from actors.shared.tracing.tracer import RecordingTracer
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod


def traced(home: Path) -> tuple[Driven, list[Span]]:
    """A node, and the spans that have ended on it."""
    ended: list[Span] = []
    return Driven(home, tracer=RecordingTracer(bound_of(MILLION), ended.append)), ended


async def test_a_pods_spans_have_the_kubelets_names_and_attributes(tmp_path: Path) -> None:
    node, ended = traced(tmp_path)
    async with node:
        await node.sources(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        await node.want(pod(metadata={"labels": {"new": "label"}}))
        await node.settled()
        await node.pass_time(120)
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        names = [span.name for span in ended]
        assert [name for name in dict.fromkeys(names) if name != "syncPod"] == [
            "syncTerminatingPod", "syncTerminatedPod", "Containers/GarbageCollect",
        ]  # fmt: skip
        updates = [span.attributes["k8s.pod.update_type"] for span in ended if span.name == "syncPod"]
        assert (updates[0], set(updates), updates.count("create"), updates.count("update")) == (
            "create", {"create", "update", "sync"}, 1, 1,
        )  # fmt: skip
        for span in ended:
            about = {key: value for key, value in span.attributes.items() if key != "k8s.pod.update_type"}
            assert about == {
                "k8s.pod.uid": "u", "k8s.pod": "default/p", "k8s.pod.name": "p", "k8s.namespace.name": "default",
            }  # fmt: skip
            assert (span.error, span.parent) == (None, None)


async def test_the_image_is_requested_within_the_pods_span(tmp_path: Path) -> None:
    node, ended = traced(tmp_path)
    async with node:
        await node.sources(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        (asked,) = [message for _, message in node.harness.asks if isinstance(message, EnsureImage)]
        found = read(asked.traceparent)
        create = next(span for span in ended if span.attributes.get("k8s.pod.update_type") == "create")
        assert found is not None
        assert (found.trace_id, found.span_id) == (create.context.trace_id, create.context.span_id)


async def test_a_failed_creation_of_a_container_fails_its_span(tmp_path: Path) -> None:
    node, ended = traced(tmp_path)
    async with node:
        node.fake.faults.add("CreateContainer", Fault(error="INTERNAL", details="no disk", times=1))
        await node.sources(pod())
        await node.until(lambda: any(span.error for span in ended))
        assert "a: CreateContainerError: " in str(ended[0].error)
        assert "no disk" in str(ended[0].error)


async def test_an_unavailable_runtime_fails_the_span(tmp_path: Path) -> None:
    node, ended = traced(tmp_path)
    async with node:
        node.fake.faults.add("RunPodSandbox", Fault(error="UNAVAILABLE", details="gone", times=1))
        await node.sources(pod())
        await node.until(lambda: any(span.error for span in ended))
        failed = next(span for span in ended if span.error)
        assert "gone" in str(failed.error)
        await node.pass_time(2)
        await node.until(lambda: node.running("a"))
        await node.settled()
        assert ended[-1].error is None


async def test_a_pod_that_must_end_meanwhile_is_no_failure(tmp_path: Path) -> None:
    node, ended = traced(tmp_path)
    async with node:
        waits = node.harness
        waits.answer(EnsureImage, lambda _: None)
        await node.sources(pod(containers=[container("a")]))
        await node.until(lambda: any(isinstance(message, EnsureImage) for _, message in waits.asks))
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert [span.error for span in ended] == [None] * len(ended)


async def test_requests_carry_no_trace_context_without_tracing(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.sources(pod())
        await node.until(lambda: node.running("a"))
        (asked,) = [message for _, message in node.harness.asks if isinstance(message, EnsureImage)]
        assert asked.traceparent == ""
