"""Performs the steps of a plan: what may hang in the kernel in a disposable process, the rest here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from actors.api_clients.messages import EVENT_CLIENT, RecordEvent
from actors.container_manager.messages import CONTAINER_MANAGER, GetNodeResources, NodeResources
from actors.shared.config.agent import Agent
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.linux.memory import total_memory
from supervision.actor import Actor, AskError, DisposableError, DisposableTimeout

from . import atomic, downward, making, nfs, plan
from .csi.api import ApiObjects
from .csi.drivers import Drivers
from .csi.model import CsiMount
from .csi.mounting import Around, CsiMounting
from .csi.node_objects import NodeObjects
from .csi.records import Records
from .locks import PodLocks
from .projecting import Projecting

MOUNT_SECONDS: Final = 20.0
PROGRAM_SECONDS: Final = MOUNT_SECONDS - 2.0
"""So long a mount program has: it is killed before the process that waits for it."""
OWNERSHIP_SECONDS: Final = 100.0
"""For a volume with many files."""
HUNG_SECONDS: Final = 60.0
"""So long no second process is risked on a volume that hung one."""
_ON_DISK: Final = "tmpfs has no option noswap here: memory-backed volumes might be swapped to disk"
_MAKING: Final = "actors.volume_manager.making:"


class Performing:
    """For the volume manager. `stamp` gives a text that was never given before; `mounter` is a program that is given
    the command of mounts of the network, empty: none."""

    def __init__(self, actor: Actor, clock: Callable[[], float], stamp: Callable[[], str], mounter: str = "") -> None:
        self._actor, self._clock, self._stamp, self._mounter = actor, clock, stamp, mounter
        self.projecting = Projecting(actor, self._mount_projected, self.node, stamp)
        self.csi: CsiMounting | None = None
        """Of a joined node."""
        self._hung: set[str] = set()
        self._allocatable: dict[str, int] = {}
        self._swap_was_said = False

    def serve_drivers(self, agent: Agent, pods: PodLocks) -> None:
        """Let storage drivers of this node register, and have volumes of theirs."""
        api = ApiObjects(self._actor)
        drivers = Drivers(self._actor, agent.plugins_registry_dir, NodeObjects(api, agent.node_name))
        found = Records(agent.pods_dir, agent.plugins_dir)
        around = Around(self._actor, drivers, api, found, self.projecting.tokens, self.give, agent.node_name, pods)
        self.csi = CsiMounting(around)
        self.csi.start()

    async def perform(self, pod: Pod, step: plan.Step) -> str:
        """'' or the error's text."""
        if isinstance(step, plan.Unready):
            return step.message
        begun = self._clock()
        match step:
            case plan.Downward():
                error = await self._write(pod, step)
            case plan.Projected():
                error = await self.projecting.fill(pod, step)
            case CsiMount():
                error = await self.csi.mount(pod, step) if self.csi is not None else "no API server is joined"
            case _:
                error = await self._make(step)
        plugin, status = type(step).__name__, "fail-unknown" if error else "success"
        self._actor.metrics.observe(
            "storage_operation_duration_seconds",
            self._clock() - begun,
            operation_name="volume_mount",
            volume_plugin=plugin,
            status=status,
            migrated="false",
        )
        return error

    async def _make(self, step: plan.Step) -> str:
        match step:
            case plan.Directory():
                return self._make_directory(step)
            case plan.MemoryDirectory():
                arguments = {"path": step.path, "size": step.size, "group": step.group}
                return await self.risk(step.path, _MAKING + "mount_memory", arguments, self._note_swap)
            case plan.HugePages():
                arguments = {"path": step.path, "page_size": step.page_size, "group": step.group}
                return await self.risk(step.path, _MAKING + "mount_huge_pages", arguments)
            case plan.HostPath() | plan.Local() if step.type:
                arguments = {"path": step.path, "type": step.type}
                error = await self.risk(step.path, _MAKING + "check_host_path", arguments, str)
                return error or await self._give(step)
            case nfs.Nfs():
                return await self._mount_nfs(step)
        return ""

    async def _mount_nfs(self, step: nfs.Nfs) -> str:
        arguments = {
            "source": step.export,
            "target": step.path,
            "kind": "nfs",
            "options": step.options,
            "mounter": self._mounter,
            "seconds": PROGRAM_SECONDS,
        }
        return await self.risk(step.path, "actors.volume_manager.mount_program:mount_by_program", arguments, str)

    async def _give(self, step: plan.HostPath | plan.Local) -> str:
        if not isinstance(step, plan.Local) or step.group is None:
            return ""
        return await self.give(step.path, step.group, step.when_root_differs)

    async def give(self, path: str, group: int, when_root_differs: bool) -> str:
        """All files at the path to the group. '' or the error's text."""
        arguments = {"path": path, "group": group, "when_root_differs": when_root_differs}
        function = "actors.volume_manager.ownership:give_to_group"
        return await self.risk(path, function, arguments, deadline=OWNERSHIP_SECONDS)

    def _make_directory(self, step: plan.Directory) -> str:
        """On our own file system: nothing there hangs that would not hang the agent anyway."""
        try:
            making.make_directory(step.path, plan.EMPTY_DIR_MODE, step.group)
        except OSError as error:
            return str(error)
        return ""

    async def _write(self, pod: Pod, step: plan.Downward) -> str:
        """On our own file system too, and small."""
        try:
            files = downward.files(pod, step.source, await self.node())
            making.make_directory(step.path, 0o777, step.group)
            atomic.write(step.path, files, f"..{self._stamp()}", step.group)
        except (downward.DownwardError, QuantityError, OSError) as error:
            return str(error)
        return ""

    async def _mount_projected(self, step: plan.Projected) -> str:
        arguments = {"path": step.path, "size": step.size, "group": step.group}
        return await self.risk(step.path, _MAKING + "mount_memory", arguments, self._note_swap)

    async def risk(
        self,
        key: str,
        function: str,
        arguments: dict[str, Any],
        judge: Callable[[Any], str] = lambda _: "",
        *,
        deadline: float = MOUNT_SECONDS,
    ) -> str:
        """Run it where it may hang. '' or the error's text."""
        if key in self._hung:
            return f"{key} did not answer: it is tried again {HUNG_SECONDS:g} s after the last time"
        try:
            return judge(await self._actor.disposable(function, arguments, deadline=deadline))
        except DisposableTimeout:
            self._mark_hung(key)
            return f"{key} did not answer within {deadline:g} s"
        except DisposableError as error:
            return error.text

    def _mark_hung(self, key: str) -> None:
        self._hung.add(key)
        self._actor.metrics.count("volume_operations_hung_total")
        self._actor.after(HUNG_SECONDS, lambda: self._hung.discard(key))

    def _note_swap(self, never_swapped: bool) -> str:
        if not never_swapped and making.swap_is_on() and not self._swap_was_said:
            self._swap_was_said = True
            self._actor.log.warning("memory-backed volumes may reach the disk: swap is on and tmpfs has no noswap here")
            agent = cast(Agent, self._actor.context)
            if not agent.standalone:
                name, reason = agent.node_name, "PossibleMemoryBackedVolumesOnDisk"
                event = RecordEvent(kind="Node", name=name, uid=name, type="Warning", reason=reason, message=_ON_DISK)
                self._actor.tell(EVENT_CLIENT, event, deadline=60.0)
        return ""

    async def node_memory(self) -> int:
        """Bytes that pods of this node may use."""
        return (await self.node()).get("memory", 0) or total_memory()

    async def node(self) -> dict[str, int]:
        """What pods of this node may use; nothing when the container manager does not tell."""
        if not self._allocatable:
            try:
                answer = await self._actor.ask(CONTAINER_MANAGER, GetNodeResources(), NodeResources, timeout=2.0)
            except AskError:
                return {}
            self._allocatable = answer.allocatable
        return self._allocatable
