"""Watches the kernel log for processes that the OOM killer killed, and reports them as events.

A node that is out of memory itself: event SystemOOM of the node, whichever process is killed. A process in a container:
event OOMKilling of its pod, with the container's name; for a process other than the container's first one this is the
only report.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event, pod_event
from actors.shared.config.agent import Agent
from actors.shared.kube.pods import container_field
from supervision.actor import Actor
from supervision.errors import error_text

from .kernel_log import OomKill, read_kill
from .usage_reader import UsageReader

PATH: Final = "/dev/kmsg"
_RECORD_BYTES: Final = 8192
_MOST_AT_ONCE: Final = 200


class OomWatcher:
    """`host`: the root directory of a simulated host."""

    def __init__(self, actor: Actor, agent: Agent, usage: UsageReader, host: str = "") -> None:
        self._actor, self._agent, self._usage, self._path = actor, agent, usage, f"{host}{PATH}"

    def start(self) -> None:
        """Watch from now on. If the log cannot be read, OOM kills are not reported and the agent continues."""
        try:
            log = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            self._actor.log.warning("cannot watch the kernel log, OOM kills are not reported: %s", error)
            return
        with suppress(OSError):
            os.lseek(log, 0, os.SEEK_END)
        try:
            asyncio.get_running_loop().add_reader(log, self._readable, log)
        except OSError as error:  # in some containers it is /dev/null
            os.close(log)
            self._actor.log.warning("cannot watch the kernel log, OOM kills are not reported: %s", error)

    def _readable(self, log: int) -> None:
        kills = []
        for _ in range(_MOST_AT_ONCE):
            try:
                record = os.read(log, _RECORD_BYTES)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # some records were lost
            except OSError as error:  # in some containers it is a console
                self._end(log, error_text(error))
                break
            if not record:
                self._end(log, "end of file")
                break
            lines = record.decode("utf-8", "replace").splitlines()
            kills += [kill for line in lines if (kill := read_kill(line)) is not None]
        if kills:
            self._actor.start_task(self._report(kills), "out of memory")

    def _end(self, log: int, why: str) -> None:
        asyncio.get_running_loop().remove_reader(log)
        os.close(log)
        self._actor.log.warning("the kernel log cannot be read, OOM kills are no longer reported: %s", why)

    async def _report(self, kills: list[OomKill]) -> None:
        for kill in kills:
            if kill.of_node:
                self._report_node(kill)
            if kill.pod_uid:
                await self._report_pod(kill)
            elif not kill.of_node:
                self._log_kill(kill)

    def _report_node(self, kill: OomKill) -> None:
        self._log_kill(kill)
        if not self._agent.standalone:
            text = f"System OOM encountered, victim process: {kill.process}, pid: {kill.pid}"
            event = node_event(self._agent.node_name, "SystemOOM", text, "Warning")
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)

    def _log_kill(self, kill: OomKill) -> None:
        self._actor.log.warning("the kernel killed %s (%d) of %s: out of memory", kill.process, kill.pid, kill.cgroup)

    async def _report_pod(self, kill: OomKill) -> None:
        pod = next((one for one in await self._usage.pods() or [] if one.uid == kill.pod_uid), None)
        if pod is None:
            self._actor.log.warning("the kernel killed %s (%d) of pod %s", kill.process, kill.pid, kill.pod_uid)
            return
        meta = pod.pod.metadata
        name = await self._usage.container_name(pod, kill.container_id)
        text = "the kernel killed %s (%d) of container %r of pod %s/%s (%s): out of memory"
        self._actor.log.warning(text, kill.process, kill.pid, name, meta.namespace, meta.name, meta.uid)
        if not self._agent.standalone:
            scope = "System" if kill.of_node else "Memory cgroup"
            message = f"{scope} out of memory: killed process {kill.process}, pid: {kill.pid}"
            field = container_field(pod.pod, name) if name else ""
            event = pod_event(meta, "Warning", "OOMKilling", message, field)
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)
