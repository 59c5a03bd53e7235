"""Secrets, config maps, services and runtime classes that a pod's containers need, from `kube_client`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from actors.api_clients.kube_client.messages import (
    KUBE_CLIENT,
    GetObject,
    GetServices,
    ObjectRef,
    ObjectState,
    Services,
)
from actors.pod_workers.errors import ConfigError
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.contents import config_map_texts, secret_data
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_static
from supervision.actor import Actor, AskError
from supervision.errors import UNREADABLE

from .service_links import service_environment

WAIT_SECONDS = 2.0
ASK_SECONDS = 5.0
AT_ONCE: Final = 8
"""The most objects that are on their way to one container."""
MOST_BYTES: Final = 16 << 20
"""The most for one container's environment. The kernel takes 6 MiB of an environment, a shard starts several
containers at once, and each object is in memory twice meanwhile: as JSON and decoded."""


class Objects(msgspec.Struct, frozen=True, kw_only=True):
    """The API server's answers."""

    states: dict[ObjectRef, ObjectState] = {}
    services: dict[str, str] = {}
    """Environment of the services."""
    decoded: dict[ObjectRef, dict[str, str]] = {}
    """The values that were asked for: thousands of variables may have keys of one object of a mebibyte."""

    def texts(self, ref: ObjectRef, *, optional: bool) -> dict[str, str]:
        """Its values by key; empty if it is absent and optional. Raises ConfigError with the kubelet's texts."""
        kind = "configmap" if ref.kind == "ConfigMap" else "secret"
        state = self.states.get(ref)
        if state is None:
            if optional:
                return {}
            raise ConfigError(f'{kind} "{ref.name}" not found: no API server is joined')
        if ref in self.decoded:
            return self.decoded[ref]
        if state.body:
            try:
                self.decoded[ref] = _texts(ref, state.body)
                return self.decoded[ref]
            except ObjectError as error:
                raise ConfigError(f'{kind} "{ref.name}" cannot be read: {error}') from None
        if state.reason != "NotFound":
            raise ConfigError(f"failed to sync {kind} cache: {state.message or state.reason}")
        if optional:
            return {}
        raise ConfigError(f'{kind} "{ref.name}" not found')


class _RuntimeClass(msgspec.Struct):
    handler: str


_RUNTIME_CLASS = msgspec.json.Decoder(_RuntimeClass)


def _texts(ref: ObjectRef, body: bytes) -> dict[str, str]:
    if ref.kind == "ConfigMap":
        return config_map_texts(body)
    return {key: value.decode(errors="surrogateescape") for key, value in secret_data(body).items()}


async def fetch(actor: Actor, pod: Pod, refs: Iterable[ObjectRef], *, joined: bool) -> Objects | None:
    """Get these objects of the pod's namespace, and its services. None: there is no API server. Raises ConfigError,
    also for objects of more than MOST_BYTES in all.

    A static pod does not wait for services, which may never come.
    """
    if not joined:
        return None
    namespace = pod.metadata.namespace
    whole = [msgspec.structs.replace(ref, namespace=namespace) for ref in refs]
    links, required = pod.spec.enableServiceLinks is not False, not is_static(pod)
    services, states = await asyncio.gather(
        _services(actor, namespace, links=links, required=required),
        _states(actor, whole),
    )
    return Objects(states=states, services=services)


async def _states(actor: Actor, refs: list[ObjectRef]) -> dict[ObjectRef, ObjectState]:
    """Raises ConfigError, and asks for no more objects, when they are too large together."""
    found: dict[ObjectRef, ObjectState] = {}
    size = 0
    for few in in_groups(refs):
        states = await asyncio.gather(*(state_of(actor, ref) for ref in few))
        found |= zip(few, states, strict=True)
        size += sum(len(state.body) for state in states)
        if size > MOST_BYTES:
            most = f"{MOST_BYTES >> 20} MiB"
            raise ConfigError(f"the config maps and secrets of its environment have more than {most} in all")
    return found


def in_groups(refs: list[ObjectRef]) -> Iterator[list[ObjectRef]]:
    """AT_ONCE each."""
    return (refs[at : at + AT_ONCE] for at in range(0, len(refs), AT_ONCE))


async def runtime_handler(actor: Actor, pod: Pod, *, joined: bool) -> str:
    """The runtime handler of the pod's RuntimeClass; '' for the default. Raises ConfigError."""
    name = pod.spec.runtimeClassName
    if not name:
        return ""
    if not joined:
        raise ConfigError(f'runtimeclass.node.k8s.io "{name}" not found: no API server is joined')
    state = await state_of(actor, ObjectRef("RuntimeClass", name))
    if state.body:
        try:
            return _RUNTIME_CLASS.decode(state.body).handler
        except UNREADABLE as error:
            raise ConfigError(f"failed to lookup RuntimeClass {name}: {error}") from None
    if state.reason == "NotFound":
        raise ConfigError(f'runtimeclass.node.k8s.io "{name}" not found')
    raise ConfigError(f"failed to lookup RuntimeClass {name}: {state.message or state.reason}")


async def state_of(actor: Actor, ref: ObjectRef) -> ObjectState:
    """The object as `kube_client` has it. Never raises: a missing answer is returned as the reason `Unreachable`."""
    try:
        return await actor.ask(KUBE_CLIENT, GetObject(ref, WAIT_SECONDS), timeout=ASK_SECONDS)
    except AskError:
        return ObjectState(ref, reason="Unreachable", message="timed out waiting for the condition")


async def _services(actor: Actor, namespace: str, *, links: bool, required: bool) -> dict[str, str]:
    try:
        found = await actor.ask(KUBE_CLIENT, GetServices(namespace), timeout=ASK_SECONDS)
    except AskError:
        found = Services(synced=False)
    if not found.synced and required:
        raise ConfigError("services have not yet been read at least once, cannot construct envvars")
    return await service_environment(found.services, found.master, links=links)
