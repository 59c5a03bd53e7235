"""Registers the node, or corrects the agent's fields in an existing one."""

from __future__ import annotations

import os
from typing import Final

from actors.shared.api.errors import ApiError
from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.repeated_warnings import RepeatedWarnings

from .node_status.fact_sources import FactSources
from .node_status.status import ComputedNode
from .node_writer import NodeWriter
from .registered_node import RETRIES, RegistrationPlan, new_node, reconciled
from .startup_times import StartupTimes, since_boot
from .status_sync import StatusSync

DEVICE_CHECKPOINT: Final = "kubelet_internal_checkpoint"


class NodeRegistration:
    """Registers the node; without registerNode it waits until another client does."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        writer: NodeWriter,
        status: StatusSync,
        sources: FactSources,
        times: StartupTimes,
        warnings: RepeatedWarnings,
    ) -> None:
        self._actor, self._agent, self._times, self._warnings = actor, agent, times, warnings
        self._writer, self._status, self._sources = writer, status, sources

    async def join(self) -> ComputedNode | None:
        """Try until the node is registered. Returns it as it was created; None when it was there already."""
        failures, asked = 0, 0.0
        while True:
            self._times.trying(since_boot())
            try:
                if await self._reconcile():
                    return None
                if self._agent.config.registerNode and (created := await self._create()) is not None:
                    return created
            except ApiError as error:
                self._warnings.warn("register", f"the node is not registered yet: {error}")
                asked = error.retry_after
            failures += 1
            await self._actor.pause(max(RETRIES.pause(failures), asked))

    async def _reconcile(self) -> bool:
        """Correct the agent's fields in an existing Node. Returns whether the API has the node. Raises ApiError."""
        found = await self._writer.find()
        if found is None:
            return False
        if self._agent.config.registerNode:
            await self._writer.write(found, reconciled(found, plan_of(self._agent)))
        name, uid = self._agent.node_name, found["metadata"].get("uid")
        self._actor.log.info("node %s is registered already, as %s", name, uid)
        return True

    async def _create(self) -> ComputedNode | None:
        """Create the node; None if another client has created it meanwhile. Raises ApiError."""
        await self._sources.enough.wait()
        computed = await self._status.create(new_node(plan_of(self._agent)))
        if computed is not None:
            for metric, value in self._times.registered(since_boot()).items():
                self._actor.metrics.gauge(metric, value)
            self._actor.log.info("node %s is registered", self._agent.node_name)
        return computed


def plan_of(agent: Agent) -> RegistrationPlan:
    """The settings of the Node object in the configuration."""
    return RegistrationPlan(
        name=agent.node_name,
        labels=agent.node_labels,
        taints=tuple((taint.key, taint.value, taint.effect) for taint in agent.config.registerWithTaints),
        provider_id=agent.config.providerID,
        external_cloud=agent.external_cloud,
        controller_attaches=agent.config.enableControllerAttachDetach,
        keep_volumes=bool(agent.flags.get("keep-terminated-pod-volumes")),
        reset_devices=not os.path.exists(f"{agent.device_plugins_dir}/{DEVICE_CHECKPOINT}"),
    )
