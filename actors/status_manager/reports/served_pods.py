"""Sends every pod with its status to pods_server, if it exists (gate PodsAPI), on change and on Hello."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from actors.http_servers.messages import PODS_SERVER
from actors.shared.config.agent import Agent
from actors.shared.kube import codec
from supervision.actor import Actor

from ..messages import ServedPod, ServedPods
from ..pods.api_pods import ApiPod
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod


def with_status(pod: TrackedPod, api_pod: ApiPod | None) -> dict[str, Any]:
    """The pod as its source gave it, with its current status."""
    raw: dict[str, Any] = msgspec.json.decode(pod.observed.pod)
    if api_pod is not None:
        raw["metadata"]["resourceVersion"] = api_pod.metadata.resourceVersion
    raw["status"] = pod.status
    return raw


def list_item(pod: TrackedPod, api_pod: ApiPod | None) -> dict[str, Any]:
    """The same without kind and apiVersion, which items of a list omit."""
    raw = with_status(pod, api_pod)
    return {name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}


class ServedPodsFeed:
    """Does nothing without pods_server."""

    def __init__(self, actor: Actor, table: PodTable, agent: Agent) -> None:
        self._actor, self._table = actor, table
        self._on = agent.gate("PodsAPI")
        self._sent_data: dict[str, bytes] = {}

    def hello(self, listed: Collection[str] | None) -> None:
        """pods_server has started. `listed`: the UIDs of all pods; None: some worker has not listed its pods."""
        self._sent_data.clear()
        for pod in self._table.all():
            self.changed(pod)
        if listed is not None:
            self.listed(listed)

    def changed(self, pod: TrackedPod) -> None:
        """The pod, its status or its API copy may have changed."""
        if not self._on or pod.status is None:
            return
        data = codec.encode(with_status(pod, self._table.api.get(pod.uid)))
        if self._sent_data.get(pod.uid) != data:
            self._sent_data[pod.uid] = data
            self._actor.tell(PODS_SERVER, ServedPod(pod.uid, data))

    def gone(self, uid: str) -> None:
        if self._sent_data.pop(uid, None) is not None:
            self._actor.tell(PODS_SERVER, ServedPod(uid, b""))

    def listed(self, uids: Collection[str]) -> None:
        """Every worker has listed its pods: `uids` are all of them."""
        if self._on:
            self._actor.tell(PODS_SERVER, ServedPods(sorted(uids)))
