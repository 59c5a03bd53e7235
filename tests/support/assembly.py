"""The actors that have to do with pods, all in one process and in virtual time, on a fake runtime.

Actors, messages and their encoding, relations (who says Hello to whom) are those of the tree; the wire between the
processes is not, nor are the processes. The API server's pods, its other objects and its events are played here.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
import json
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.api_clients.kube_client.messages import (
    KUBE_CLIENT,
    ApiAnswer,
    ApiCall,
    GetObject,
    GetServices,
    ObjectRef,
    ObjectState,
    Services,
)
from actors.container_manager.messages import CONTAINER_MANAGER, NodeEvictions
from actors.eviction_manager.messages import EVICTION_MANAGER
from actors.pod_config.messages import POD_CONFIG, SourcePod, SourcePods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri import pod_lookup
from actors.shared.declaration import Declaration
from actors.status_manager.messages import STATUS_MANAGER
from actors.status_manager.times import PodStatusClocks, time_of_ns
from actors.tree import RELATIONS, declarations, feeders
from actors.volume_manager.host import memory_mounts, mount_propagation
from supervision.actor import Actor, Address, AskTimeout, DisposableError, Timer
from supervision.listeners import Make
from supervision.message import Message
from supervision.process.timers import Period, Timers
from supervision.process_messages import Hello, LastEnd
from tests.support.api_neighbour import ApiNeighbour
from tests.support.fake_cri import FakeRuntime
from tests.support.managed_host import ASK, Host
from tests.support.virtual_loop import VirtualLoop

ACTORS = (
    "container_manager",
    "volume_manager",
    "image_manager",
    "pod_config",
    "pod_workers/worker/*",
    "pleg",
    "prober",
    "status_manager",
)
PLAYED = (KUBE_CLIENT, EVENT_CLIENT, HEARTBEAT_CLIENT)
NODE_IP = "192.0.2.1"
_USERS_OF_THE_RUNTIME = ("pleg.actor", "image_manager.actor", "pod_workers.actor", "prober.actor")


class _Port:
    """What an actor's verbs are delegated to."""

    incarnation = 1
    last_end = LastEnd()

    def __init__(self, node: Assembly, name: str) -> None:
        self._node, self.name, self.context = node, name, node.agent
        self.address = Address(name)
        self._timers = Timers(node.loop.call_later, self.run)
        self.dead = False
        """Its process was killed: timers and messages reach nobody."""

    def actor_send(self, target: Address, message: Any, deadline: float = 10.0) -> None:
        self._node.send(self.name, target, message)

    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        return await self._node.ask(self.name, name, message, timeout)

    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        return self._timers.after(seconds, call)

    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer:
        return self._timers.every(seconds, call, jitter, immediately)

    def start_task(self, coroutine: Coroutine[Any, Any, Any], name: str, record: object = None) -> asyncio.Task[Any]:
        return self._node.task(coroutine, name)

    def work_for(self, label: str, allowance_seconds: float) -> None:
        """No watchdog looks."""

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        return make()

    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        return self._node.dispose(function, arguments)

    def wakeupAfter(self, period: Period, payload: Any = None) -> None:
        raise NotImplementedError

    def run(self, call: Callable[[], Any], name: str) -> asyncio.Task[Any] | None:
        if self.dead:
            return None
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - handed to the test
            self._node.failures.append(error)
            return None
        return self._node.task(_await(result), name) if inspect.isawaitable(result) else None


class Assembly:
    """One node, joined to a cluster of which it sees its own pods (`store`), `objects` and `services`."""

    def __init__(self, home: Path, loop: VirtualLoop, *, node_ip: str = NODE_IP, **config: Any) -> None:
        self.home, self.loop = home, loop
        self.started_at = time_of_ns(loop.wall_ns()) or ""
        self.fake = FakeRuntime(clock_ns=loop.wall_ns)
        self.store = ApiNeighbour()
        self.events: list[RecordEvent] = []
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        """By kind and name."""
        self.services = Services(synced=True)
        self.failures: list[BaseException] = []
        self.manifests = home / "manifests"
        self.manifests.mkdir(parents=True)
        settings = {
            "podLogsDir": f"{home}/logs",
            "staticPodPath": str(self.manifests),
            "evictionHard": {},
            "makeIPTablesUtilChains": False,
            "cgroupDriver": "cgroupfs",
            **config,
        }
        self.agent = Agent(
            config=msgspec.convert(settings, KubeletConfiguration, strict=False),
            root_dir=f"{home}/root",
            run_dir=f"{home}/run",
            container_logs_dir=f"{home}/links",
            node_ip=node_ip,
            node_name="node-1",
            workers=1,
            standalone=False,
        )
        self.disposables: dict[str, Callable[..., Any]] = {
            ASK: lambda **_: "",
        }
        self.actors: dict[str, Actor] = {}
        self._host = Host(home / "host")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._questions: dict[int, asyncio.Future[Message]] = {}
        self._ids = itertools.count(1)

    # -- life -----------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Every actor, in the order of the tree."""
        found = {one.name: one for one in declarations() if one.name in ACTORS}
        names = [name for one in found.values() for name in one.names(self.agent)]
        for declaration in found.values():
            for name in declaration.names(self.agent):
                await self._start_actor(declaration, str(name))
        for declaration in found.values():
            for name in declaration.names(self.agent):
                for feeder in feeders(declaration, self.agent, names):
                    self.send(str(name), Address(feeder), Hello(name, 1))
        self.send(EVICTION_MANAGER, Address(CONTAINER_MANAGER), NodeEvictions([]))  # the node has enough of everything
        self.tell_pods()
        await self.settle()

    async def _start_actor(self, declaration: Declaration, name: str) -> None:
        module, _, attribute = declaration.actor.partition(":")
        arguments = dict(declaration.arguments(RELATIONS)) if declaration.arguments is not None else {}
        arguments |= self._arguments(name)
        actor = getattr(importlib.import_module(module), attribute)(**arguments)
        actor._myRef = _Port(self, name)
        await actor.on_start()
        self.actors[name] = actor

    def _arguments(self, name: str) -> dict[str, Any]:
        """Clocks that are bound when the class is made, and the host that no test may touch."""
        if name == "container_manager":
            return {"host": str(self._host.root), "runner": self._host.run, "call": self._host.answer}
        if name == STATUS_MANAGER:
            return {"clocks": PodStatusClocks(self.loop.wall_ns, self.loop.time, lambda: 0.0)}
        if name == "volume_manager":
            return {"clock": self.loop.time}
        if name.startswith("pod_workers/"):
            return {"clock": self.loop.wall, "monotonic": self.loop.time}
        return {}

    async def restart(self) -> None:
        """The agent is killed and started again; runtime, files and API server stay."""
        await self._kill()
        self.actors.clear()
        await self.start()

    async def stop(self) -> None:
        await self._kill()
        await self.fake.close()

    async def _kill(self) -> None:
        for actor in self.actors.values():
            actor._myRef.dead = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- messages ---------------------------------------------------------------------------------------------------
    def send(self, sender: str, target: Address, message: Any) -> None:
        question = getattr(target, "ask", 0)
        message = _through_the_wire(message)
        if question:
            waiting = self._questions.get(question)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        else:
            self._deliver(sender, str(target), message, 0)

    async def ask(self, sender: str, name: str, message: Message, timeout: float) -> Message:
        question, waiting = next(self._ids), self.loop.create_future()
        self._questions[question] = waiting
        self._deliver(sender, name, _through_the_wire(message), question)
        try:
            found: Message = await asyncio.wait_for(waiting, timeout)
            return found
        except TimeoutError:
            text = f"{name} did not answer {type(message).__name__} within {timeout:g} s"
            raise AskTimeout(text) from None
        finally:
            del self._questions[question]

    def _deliver(self, sender: str, name: str, message: Any, question: int) -> None:
        if name in self.actors:
            actor, address = self.actors[name], Address(sender, question)
            port = actor._myRef
            self.loop.call_soon(lambda: port.run(lambda: actor.receiveMessage(message, address), "handler"))
        elif isinstance(message, RecordEvent):
            self.events.append(message)
        elif question:
            self.loop.call_soon(self._play, message, question)

    def _play(self, message: Any, question: int) -> None:
        """What kube_client answers."""
        waiting = self._questions.get(question)
        answer = self._answer(message)
        if answer is not None and waiting is not None and not waiting.done():
            waiting.set_result(_through_the_wire(answer))

    def _answer(self, message: Any) -> Message | None:
        if isinstance(message, GetServices):
            return self.services
        if isinstance(message, GetObject):
            if message.ref.kind == "Node":
                return self.store.get_object(message)
            found = self.objects.get((message.ref.kind, message.ref.name))
            if found is None:
                return ObjectState(message.ref, reason="NotFound", message=f'"{message.ref.name}" not found')
            return ObjectState(message.ref, json.dumps(found).encode())
        if isinstance(message, ApiCall) and message.path == f"/api/v1/nodes/{self.agent.node_name}":
            node = self.store.get_object(GetObject(ObjectRef("Node", self.agent.node_name)))
            return ApiAnswer(status=200 if node.body else 404, body=node.body)
        if isinstance(message, ApiCall) and "/persistentvolume" in message.path:
            *_, plural, name = message.path.split("/")
            kind = "PersistentVolumeClaim" if plural.endswith("claims") else "PersistentVolume"
            found = self.objects.get((kind, name))
            if found is None:
                return ApiAnswer(status=404, reason="NotFound", message=f'{plural} "{name}" not found')
            return ApiAnswer(status=200, body=json.dumps(found).encode())
        if isinstance(message, ApiCall) and "/pods" in message.path:
            before = {uid: pod["metadata"]["resourceVersion"] for uid, pod in self._pods().items()}
            answer = self.store.answer(message)
            for uid in {*before, *self._pods()}:
                now = self._pods().get(uid)
                if now is None or now["metadata"]["resourceVersion"] != before.get(uid):
                    self.tell_pod(uid)
            return answer
        return None

    def _pods(self) -> dict[str, dict[str, Any]]:
        return {pod["metadata"]["uid"]: pod for pod in self.store.pods.values()}

    # -- the API server's pods ----------------------------------------------------------------------------------------
    def tell_pods(self) -> None:
        """All of them, as after a list."""
        message = SourcePods("api", [json.dumps(pod).encode() for pod in self.store.pods.values()])
        for name in (POD_CONFIG, STATUS_MANAGER):
            self.send(KUBE_CLIENT, Address(name), message)

    def tell_pod(self, uid: str) -> None:
        """One that was changed or deleted."""
        pod = self._pods().get(uid)
        message = SourcePod("api", uid, json.dumps(pod).encode() if pod is not None else b"")
        for name in (POD_CONFIG, STATUS_MANAGER):
            self.send(KUBE_CLIENT, Address(name), message)

    def put(self, pod: dict[str, Any]) -> None:
        """It is created or changed at the API server."""
        self.store.put(pod)
        self.tell_pod(pod["metadata"]["uid"])

    # -- what actors do beside messages -------------------------------------------------------------------------------
    def dispose(self, function: str, arguments: Mapping[str, Any]) -> Any:
        """In this process. Raises DisposableError."""
        module, _, attribute = function.partition(":")
        call = self.disposables.get(function) or getattr(importlib.import_module(module), attribute)
        try:
            return call(**arguments)
        except DisposableError:
            raise
        except Exception as error:
            raise DisposableError(type(error).__name__, str(error), getattr(error, "errno", None) or 0) from error

    def task(self, coroutine: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = self.loop.create_task(coroutine, name=name or None)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)

    # -- time -----------------------------------------------------------------------------------------------------
    async def settle(self, seconds: float = 0.01) -> None:
        """Let so much time pass. Raises what an actor raised."""
        await asyncio.sleep(seconds)
        if self.failures:
            raise self.failures.pop(0)


def played(fake: FakeRuntime) -> ExitStack:
    """While this is entered, whoever makes a client of the runtime gets one of the fake. Within virtual time only."""
    stack = ExitStack()
    stack.enter_context(patch.object(mount_propagation, "make_shared", lambda path: False))
    stack.enter_context(patch.object(memory_mounts, "mount_memory", _makes_directory))
    for look in (pod_lookup.look, pod_lookup.look_at):  # their clock is bound when they are made
        defaults = (*(look.__defaults__ or ())[:-1], time.monotonic)
        stack.enter_context(patch.object(look, "__defaults__", defaults))
    for name in _USERS_OF_THE_RUNTIME:
        module = importlib.import_module(f"actors.{name}")
        stack.enter_context(patch.object(module, "CriClient", lambda *_, **__: fake.client()))
    return stack


def _makes_directory(path: str, *_: Any) -> bool:
    Path(path).mkdir(parents=True, exist_ok=True)
    return True


def _through_the_wire(message: Any) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=type(message))


async def _await(awaitable: Any) -> Any:
    return await awaitable
