"""Finds and removes this agent's pods in an external runtime, over CRI."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError

_TRIES: Final = 3
"""A sandbox may be in use for a moment after its containers were killed."""


class RuntimePod(msgspec.Struct, frozen=True):
    """A sandbox."""

    endpoint: str
    sandbox: str
    uid: str
    name: str
    """<namespace>/<name>."""

    def __str__(self) -> str:
        return f"{self.name} ({self.uid})"


def find(endpoints: Sequence[str], uids: Collection[str]) -> tuple[list[RuntimePod], list[str]]:
    """The sandboxes of pods with these UIDs, and an error for each runtime that did not answer."""
    found: list[RuntimePod] = []
    silent: list[str] = []
    for endpoint in endpoints if uids else ():
        try:
            found += [pod for pod in asyncio.run(_list(endpoint)) if pod.uid in uids]
        except CriError as error:
            silent.append(f"{endpoint} does not say which pods it has: {error}")
    return found, silent


def remove(pods: Sequence[RuntimePod]) -> list[str]:
    """Stop and remove them, with their containers and networks. The errors."""
    return asyncio.run(_remove(pods))


async def _list(endpoint: str) -> list[RuntimePod]:
    client = CriClient(endpoint)
    try:
        listed = await client.list_pod_sandboxes()
    finally:
        await client.close()
    return [RuntimePod(endpoint, one.id, one.pod_uid, f"{one.pod_namespace}/{one.pod_name}") for one in listed]


async def _remove(pods: Sequence[RuntimePod]) -> list[str]:
    wrong = []
    for endpoint in dict.fromkeys(pod.endpoint for pod in pods):
        client = CriClient(endpoint)
        try:
            own = [pod for pod in pods if pod.endpoint == endpoint]
            errors = await asyncio.gather(*(_remove_one(client, pod) for pod in own))
            wrong += [text for text in errors if text]
        finally:
            await client.close()
    return wrong


async def _remove_one(client: CriClient, pod: RuntimePod) -> str:
    """'' if it is gone."""
    for left in reversed(range(_TRIES)):
        try:
            await client.stop_pod_sandbox(pod.sandbox)
            await client.remove_pod_sandbox(pod.sandbox)
        except CriError as error:
            if not left:
                return f"pod {pod}: {error}"
        else:
            break
    return ""
