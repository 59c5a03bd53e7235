"""A shard of pods on a fake runtime, its neighbours played by the test, time in the test's hand.

async with Driven(tmp_path) as node:
    await node.want(pod())
    await node.until(lambda: node.running("a"))
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.kube_client.messages import GetObject, GetServices, ObjectRef, ObjectState, Services
from actors.container_manager.messages import (
    ActuatedResources,
    AdmitPod,
    GetNodeResources,
    NodeResources,
    PodAdmitted,
    PodReleased,
    ReleasePod,
    ResizePod,
)
from actors.container_manager.resizes.pod_resource_records import PodResourceRecords
from actors.device_manager.messages import (
    ClaimDevices,
    ClaimsPrepared,
    ClaimsUnprepared,
    GetClaimDevices,
    PrepareClaims,
    UnprepareClaims,
)
from actors.image_manager.messages import EnsureImage, ImageReady
from actors.pod_workers.actor import Shard
from actors.pod_workers.messages import (
    DesiredPods,
    PodOperation,
    PodRuntimeChanged,
    RuntimeHealth,
    RuntimePods,
    WantedPod,
)
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.adoption import DEFAULT_POLLING, PollSchedule
from actors.shared.cri.pod_lookup import look
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.pod import Pod
from actors.shared.state_files import StateFiles
from actors.shared.tracing.tracer import Tracer
from actors.status_manager.messages import PodObserved
from actors.tree import RELATIONS
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesMounted, VolumesUnmounted
from proto import cri_pb2 as cri
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.fake_cri import FakeRuntime
from tests.support.fake_cri.world import Container as FakeContainer

NAME = "pod_workers/worker/0"
BEGAN = 1_700_000_000.0
FOREVER = ["sh", "-c", "trap 'exit 0' TERM; serve"]
TICK = 0.001


def pod(uid: str = "u", name: str = "p", **spec: Any) -> Pod:
    """A pod with one container that runs until it is told to end; `spec` as JSON."""
    whole = {"containers": [container("a")], **spec}
    metadata = {"name": name, "namespace": "default", "uid": uid, **whole.pop("metadata", {})}
    return decode_pod(msgspec.json.encode({"metadata": metadata, "spec": whole}))


def container(name: str, command: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox", "command": command or FOREVER, **more}


class Driven:
    """One shard, from its start to its end. A second one on the same `fake` and `clock` is its next incarnation."""

    def __init__(
        self,
        home: Path,
        fake: FakeRuntime | None = None,
        clock: VirtualClock | None = None,
        *,
        joined: bool = False,
        tracer: Tracer | None = None,
        polling: PollSchedule = DEFAULT_POLLING,
        asked: bool = True,
        **config: Any,
    ) -> None:
        """`joined`: there is an API server, of which `objects` has the objects and `services` the services. `polling`:
        how long the runtime's client looks for what an earlier call has made. `asked`: the PLEG answers its Hello with
        a healthy runtime, as it does once it has asked it."""
        self.home, self.clock = home, clock or VirtualClock(BEGAN)
        self._asked = asked
        self.clock_offset = 0.0
        """Seconds by which somebody has set the clock of the node."""
        self.fake = fake or FakeRuntime(clock_ns=lambda: round(self.clock() * 1e9))
        settings = KubeletConfiguration(podLogsDir=f"{home}/logs", **config)
        self.agent = Agent(
            config=settings,
            root_dir=f"{home}/root",
            run_dir=f"{home}/run",
            container_logs_dir=f"{home}/links",
            node_ip="192.0.2.1",
            workers=1,
            standalone=not joined,
        )
        self.objects: dict[ObjectRef, ObjectState] = {}
        self.services = Services(synced=True)
        arguments: dict[str, Any] = {
            "runtime": self.fake.client(polling=polling),
            "clock": lambda: self.clock() + self.clock_offset,
            "monotonic": self.clock,
            "tracer": tracer,
        }
        arguments["inventory_consumers"] = RELATIONS.inventory
        self.records = PodResourceRecords(StateFiles(self.agent.root_dir, self.agent.run_dir))
        self._heard = 0
        self.harness = Harness(Shard, name=NAME, context=self.agent, arguments=arguments, clock=self.clock)
        resources = NodeResources({}, {"cpu": 4000, "memory": 1 << 33}, {}, 0, "cgroupfs", 2)
        self.answer(GetNodeResources, resources)
        self.answer(AdmitPod, lambda question: PodAdmitted(question.uid, f"/kubepods/pod{question.uid}"))
        self.answer(ReleasePod, lambda question: PodReleased(question.uid))
        self.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"data": f"{home}/data"}))
        self.answer(UnmountVolumes, lambda question: VolumesUnmounted(question.uid))
        self.answer(PrepareClaims, lambda question: ClaimsPrepared(question.uid))
        self.answer(GetClaimDevices, lambda question: ClaimDevices(question.uid, question.container, []))
        self.answer(UnprepareClaims, lambda question: ClaimsUnprepared(question.uid))
        self.answer(
            GetObject, lambda question: self.objects.get(question.ref, ObjectState(question.ref, reason="NotFound"))
        )
        self.answer(GetServices, lambda question: self.services)
        self.answer(EnsureImage, lambda question: ImageReady(question.image, question.image))

    def answer(self, question: type[Any], answer: Any) -> None:
        if question in (AdmitPod, ResizePod):
            self.harness.answer(question, self._keeping(answer))
        else:
            self.harness.answer(question, answer)

    def _keeping(self, answer: Any) -> Callable[[Any], Any]:
        """The answer of a container manager that keeps what it admits."""

        def keep(question: Any) -> Any:
            found = answer(question) if callable(answer) else answer
            self._hear_actuated()
            if isinstance(found, PodAdmitted):
                self.records.allocate(question.uid, decode_pod(question.pod), resized=isinstance(question, ResizePod))
            return found

        return keep

    def _hear_actuated(self) -> None:
        """Keep what the shard has told since the last time."""
        told, self._heard = self.harness.outbox[self._heard :], len(self.harness.outbox)
        for _, message in told:
            if isinstance(message, ActuatedResources):
                self.records.actuate(message)

    async def __aenter__(self) -> Driven:
        await self.harness.__aenter__()
        if self._asked:
            await self.health()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.harness.__aexit__(kind, error, traceback)
        self._hear_actuated()

    @property
    def shard(self) -> Shard:
        actor = self.harness.actor
        assert isinstance(actor, Shard)
        return actor

    # -- what its neighbours tell it --------------------------------------------------------------------------------
    async def want(self, wanted: Pod) -> None:
        await self.harness.deliver(PodOperation("set", wanted.metadata.uid, encode(wanted)))

    async def remove(self, uid: str = "u") -> None:
        await self.harness.deliver(PodOperation("remove", uid))

    async def sources(self, *pods: Pod, ready: bool = True) -> None:
        wanted = [WantedPod(pod.metadata.uid, encode(pod)) for pod in pods]
        await self.harness.deliver(DesiredPods(wanted, ready))

    async def first_look(self) -> None:
        """What the PLEG says first: everything there is."""
        uids = {one.config.metadata.uid for one in self.fake.world.sandboxes.values()}
        at = time.monotonic()
        pods = [await look(self.fake.client(), uid) for uid in sorted(uids)]
        await self.harness.deliver(RuntimePods(pods, at))

    async def relist(self, uid: str = "u") -> None:
        """What the PLEG says when this pod changed."""
        await self.pass_time(TICK)
        runtime = await look(self.fake.client(), uid)
        await self.harness.deliver(PodRuntimeChanged(uid, runtime))
        await self.settled()

    async def health(self, *, ready: bool = True, network: bool = True, message: str = "") -> None:
        await self.harness.deliver(RuntimeHealth(ready, network, message))

    # -- time -------------------------------------------------------------------------------------------------------
    async def pass_time(self, seconds: float) -> None:
        await self.harness.advance(seconds)
        await self.settled()

    async def settled(self) -> None:
        """Until everything that can happen now has happened."""
        for _ in range(20):
            await self.harness.settle()
            await asyncio.sleep(0)

    async def until(self, condition: Callable[[], bool], what: str = "condition") -> None:
        await self.harness.wait(condition, what)

    # -- what there is ------------------------------------------------------------------------------------------------
    def containers(self, name: str) -> list[FakeContainer]:
        """Oldest first."""
        found = [one for one in self.fake.world.containers.values() if one.config.metadata.name == name]
        return sorted(found, key=lambda one: one.config.metadata.attempt)

    def running(self, name: str) -> bool:
        return any(one.state == cri.CONTAINER_RUNNING for one in self.containers(name))

    def attempts(self, name: str) -> list[int]:
        return [one.config.metadata.attempt for one in self.containers(name)]

    def count_of(self, method: str) -> int:
        return len(self.fake.requests_for(method))

    async def end(self, name: str, exit_code: int = 0, uid: str = "u") -> None:
        """The process of its newest instance ends, once it runs, and the PLEG notices."""
        await self.until(lambda: self.containers(name)[-1].state == cri.CONTAINER_RUNNING)
        self.fake.finish(self.containers(name)[-1].id, exit_code)
        await self.relist(uid)

    def leave_log(self, name: str, count: int) -> None:
        """What a real runtime leaves of an instance, also when that is removed."""
        folder = next((self.home / "logs").iterdir()) / name
        folder.mkdir(exist_ok=True)
        (folder / f"{count}.log").touch()

    def events(self) -> list[tuple[str, str]]:
        """Reason and text of the events."""
        return [(event.reason, event.message) for event in self.harness.sent(RecordEvent)]

    def observed(self, uid: str = "u") -> PodObserved:
        """What was last said of the pod."""
        return [one for one in self.harness.sent(PodObserved, "status_manager") if one.uid == uid][-1]

    def stage(self, uid: str = "u") -> str:
        """'' when nothing was said of the pod yet, `gone` when it was said to be."""
        said = [one for one in self.harness.sent(PodObserved, "status_manager") if one.uid == uid]
        return "" if not said else "gone" if said[-1].gone else said[-1].worker_phase

    def waiting(self, name: str = "a", uid: str = "u") -> str:
        """The waiting reason of a container, '' for none."""
        found = self.observed(uid).waiting.get(name) if self.stage(uid) else None
        return found.reason if found is not None else ""
