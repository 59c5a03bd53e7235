"""Spans of pulls and of collection, from the actor through the runtime's socket to a real collector."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from actors.image_manager.actor import ImageManager
from actors.image_manager.messages import EnsureImage, ImageFailed, ImageReady
from actors.shared.config.agent import Agent
from actors.shared.config.fields.groups import Tracing
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.tracing.exporter import EVERY_SECONDS
from supervision.protocol import GetMetrics
from supervision.testing.harness import Harness
from tests.support.collector import Collector, Received
from tests.support.fake_cri import FakeRuntime, Fault, serve

IMAGE = "registry.test/app:1"
TRACE, SYNC = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PULL = "runtime.v1.ImageService/PullImage"


def wanted(sampled: bool) -> EnsureImage:
    return EnsureImage("u", "default", "p", "c", IMAGE, "Always", traceparent=f"00-{TRACE}-{SYNC}-0{int(sampled)}")


@asynccontextmanager
async def manager(fake: FakeRuntime, path: Path, tracing: Tracing | None) -> AsyncIterator[Harness]:
    fake.images.registry[IMAGE] = 5_000
    async with serve(fake, path / "s") as endpoint:
        config = KubeletConfiguration(tracing=tracing)
        context = Agent(config=config, runtime_endpoint=endpoint, image_endpoint=endpoint, node_name="n1")
        context = msgspec.structs.replace(context, root_dir=str(path), run_dir=f"{path}/run")
        async with Harness(ImageManager, name="image_manager", context=context) as harness:
            harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [100, 50]
            yield harness


async def exported(harness: Harness, collector: Collector, name: str) -> Received:
    await harness.advance(2 * EVERY_SECONDS)
    await harness.wait(lambda: bool(collector.named(name)), f"span {name}", timeout=30)
    return collector.named(name)[0]


async def test_a_pull_is_in_the_trace_of_the_pod_that_requested_it(tmp_path: Path) -> None:
    with Collector() as collector:
        async with manager(FakeRuntime(), tmp_path, Tracing(endpoint=collector.endpoint)) as harness:
            assert isinstance(await harness.ask(wanted(True)), ImageReady)
            call = await exported(harness, collector, PULL)
            (pull,) = collector.named("Images/Pull")
    assert (pull.trace_id, pull.parent_id, pull.attributes) == (TRACE, SYNC, {"container.image.name": IMAGE})
    assert (call.trace_id, call.parent_id, call.kind) == (TRACE, pull.span_id, "client")
    assert (call.scope, call.resource) == (
        "image_manager",
        {"service.name": "kubelet", "service.instance.id": "n1", "host.name": "n1"},
    )


async def test_a_failed_pull_has_a_reason(tmp_path: Path) -> None:
    fake = FakeRuntime()
    fake.faults.add("PullImage", Fault(error="UNKNOWN", details="no such host"))
    with Collector() as collector:
        async with manager(fake, tmp_path, Tracing(endpoint=collector.endpoint)) as harness:
            assert isinstance(await harness.ask(wanted(True)), ImageFailed)
            call = await exported(harness, collector, PULL)
            (pull,) = collector.named("Images/Pull")
    assert (call.error, call.attributes["rpc.grpc.status_code"]) == ("PullImage: no such host", 2)
    assert pull.error == "PullImage: no such host"


async def test_without_a_rate_only_traces_of_others_are_followed(tmp_path: Path) -> None:
    with Collector() as collector:
        async with manager(FakeRuntime(), tmp_path, Tracing(endpoint=collector.endpoint)) as harness:
            await harness.ask(wanted(False))
            await harness.actor._collector.collect()
            await harness.ask(wanted(True))
            await exported(harness, collector, PULL)
    assert {span.trace_id for span in collector.spans} == {TRACE}
    assert len(collector.named(PULL)) == 1


async def test_a_round_of_collection_is_a_trace(tmp_path: Path) -> None:
    fake = FakeRuntime()
    with Collector() as collector:
        tracing = Tracing(endpoint=collector.endpoint, samplingRatePerMillion=1_000_000)
        async with manager(fake, tmp_path, tracing) as harness:
            await harness.actor._collector.collect()
            fake.faults.add("ListImages", Fault(error="UNKNOWN", details="odd"))
            await harness.actor._collector.collect()
            root = await exported(harness, collector, "Images/GarbageCollect")
    well, failed = collector.named("Images/GarbageCollect")
    assert (root.parent_id, well.error, failed.error) == ("", None, "ListImages: odd")
    calls = {span.name.partition("/")[2] for span in collector.spans if span.parent_id == well.span_id}
    assert {"ListImages", "ListContainers", "ImageFsInfo"} <= calls


async def test_a_missing_collector_delays_nothing(tmp_path: Path) -> None:
    tracing = Tracing(endpoint=f"unix:{tmp_path}/nobody", samplingRatePerMillion=1_000_000)
    async with manager(FakeRuntime(), tmp_path, tracing) as harness:
        for _ in range(20):
            assert isinstance(await harness.ask(wanted(True)), ImageReady)
            await harness.advance(2 * EVERY_SECONDS)
        snapshot = await harness.ask(GetMetrics())
        assert not [sample for sample in snapshot.samples if sample.name.startswith("troupelet_trace_spans_exported")]


async def test_without_tracing_there_is_neither_timer_nor_span(tmp_path: Path) -> None:
    async with manager(FakeRuntime(), tmp_path, None) as harness:
        assert isinstance(await harness.ask(wanted(True)), ImageReady)
        assert harness.actor._tracer.start("s").context.trace_id == bytes(16)
