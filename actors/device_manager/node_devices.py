"""The node's devices and their holders: each change is written to the checkpoint, then reported to other actors."""

from __future__ import annotations

from collections.abc import Callable

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, DeviceResources
from actors.shared.config.agent import Agent
from actors.shared.repeated_save import RepeatedSave
from actors.shared.state_files import StateFiles
from supervision.actor import Actor, Timer
from supervision.protocol import FORK_SERVER

from .checkpoint_file import DeviceCheckpoint
from .device_reports import health
from .earlier_plugins import EarlierPlugins
from .health_reports import HealthReports
from .holdings import Holdings
from .inventory import Inventory
from .plugins import DevicePlugins
from .rate_limit import PacedWork


class NodeDevices:
    """Nothing is written or reported until the plugins of the last incarnation are found again; until then its reports
    stay valid.
    `clock`: seconds, for the grace of plugins that are away."""

    def __init__(self, actor: Actor, agent: Agent, clock: Callable[[], float]) -> None:
        self._actor, self._clock, self._standalone = actor, clock, agent.standalone
        self.inventory, self.holdings = Inventory(), Holdings()
        self.plugins = DevicePlugins(actor, self.inventory, self._plugin_changed, clock)
        files = StateFiles.of(actor, agent)
        self._record = DeviceCheckpoint(
            files,
            agent.device_plugins_dir,
            self.inventory,
            self.holdings,
            lambda trouble: actor.tell(FORK_SERVER, trouble),
        )
        self._write_and_report = PacedWork(actor, self._changed)
        self._earlier = EarlierPlugins(actor, agent.run_dir, self.plugins, self.changed)
        self._reports = HealthReports(actor, enabled=agent.gate("ResourceHealthStatus"))
        self._save_all = RepeatedSave(actor, self._write, "the state of devices")
        self._expiry: Timer | None = None

    def restore(self) -> None:
        """Read the checkpoint of the last incarnation. Raises OSError."""
        self._record.restore(self._clock())

    def damage_is_over(self) -> None:
        """No pod runs whose devices a damaged checkpoint has made unknown."""
        self._record.damage_is_over()

    def find_plugins(self) -> None:
        """Connect to the plugins of the last incarnation."""
        self._earlier.find()

    async def plugins_found(self) -> None:
        """Wait until these have reported their devices, or stayed away too long."""
        await self._earlier.found.wait()

    def save(self) -> None:
        """Write the checkpoint if it differs. Raises OSError."""
        self._record.save()

    def changed(self) -> None:
        """The devices or their holders have changed: write the checkpoint first, then report."""
        if self._earlier.found.is_set():
            self._write_and_report.ask()

    def _write(self) -> None:
        """Raises OSError."""
        self._record.save()
        self._earlier.remember(self.plugins.endpoints)

    def _changed(self) -> None:
        self._save_all()
        self.tell_resources()
        self.tell_health()
        self._await_expiry()

    def tell_resources(self) -> None:
        """Tell the heartbeat client capacity and allocatable. A standalone agent has no node object."""
        if not self._standalone and self._earlier.found.is_set():
            report = DeviceResources(self.inventory.capacity(), self.inventory.allocatable())
            self._actor.tell(HEARTBEAT_CLIENT, report, deadline=60.0)

    def tell_health(self, *, everything: bool = False) -> None:
        """Report the health of the pods' devices to the status manager: the changes, or everything."""
        if self._earlier.found.is_set():
            self._reports.tell(health(self.inventory, self.holdings), everything=everything)

    def _plugin_changed(self, resource: str) -> None:
        found = self.inventory.get(resource)
        if self.plugins.get(resource) is None or (found is not None and found.devices):
            self._earlier.come(resource)
        self.changed()

    def _await_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        until = self.inventory.next_expiry()
        self._expiry = None if until is None else self._actor.after(max(0.1, until - self._clock()), self._expire)

    def _expire(self) -> None:
        for resource in self.inventory.expire(self._clock()):
            self._actor.log.warning("%s is no resource of the node any more: its plugin did not come back", resource)
        self.changed()
