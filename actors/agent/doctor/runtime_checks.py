"""The container runtime: whether it answers, which version, whether it and its network are ready."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import Final

import msgspec

from actors.agent.runtime_limits import file_shortage
from actors.container_runtime.errors import MissingPrograms, RuntimeSetupError
from actors.container_runtime.host import look
from actors.container_runtime.host_setup import check_network
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.network import NoFreeNetwork
from actors.container_runtime.socket_check import absence
from actors.eviction_manager.resources import CONTAINER_DISK, IMAGE_DISK
from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, EndpointError, WithoutCri
from actors.shared.cri.model import RuntimeStatus, RuntimeVersion
from actors.shared.cri.program_log import without_cri
from actors.shared.cri.remedies import RuntimeRemedies, managed_network, network_plugin, turn_on_cri
from actors.shared.cri.stats import ImageFileSystems
from actors.shared.linux.listener_pid import listener_pid
from supervision.errors import UNREADABLE
from supervision.process_stat import is_stopped
from supervision.time_scale import scaled

from .finding import Finding, failure, ok
from .pod_causes import shortened

SECONDS: Final = 5.0
RUNTIME: Final = "container runtime"
_CNI_LOADED: Final = "lastCNILoadStatus"
_CNI_CONFIG: Final = "cniconfig"
"""Keys of containerd's information: how it last read the CNI files, and where (internal/cri/server/status.go)."""
_LOADED: Final = "OK"
MORE_INOTIFY: Final = "sysctl fs.inotify.max_user_instances=1024"
_NO_INOTIFY: Final = "fsnotify watcher: too many open files"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class _CniConfig(msgspec.Struct, frozen=True):
    """A part of what `cniconfig` holds."""

    PluginConfDir: str = ""
    PluginDirs: Sequence[str] = ()


def runtime(agent: Agent, *, running: bool) -> Iterator[Finding]:
    """`running`: the agent runs, and a managed runtime with it."""
    endpoint = agent.runtime_endpoint
    if agent.managed_runtime and not running:
        wrong = unprepared(agent)
        if wrong is None:
            yield ok(RUNTIME, "managed: the agent starts its own")
        else:
            remedy = wrong.command if isinstance(wrong, MissingPrograms) else wrong.remedy
            yield failure(RUNTIME, wrong.cause, remedy)
        return
    if gone := absence(endpoint):
        yield failure(RUNTIME, gone.cause, "sudo supervise doctor" if gone.denied else _remedies(agent).absent)
        return
    if short := file_shortage(endpoint, managed=agent.managed_runtime):
        yield failure(RUNTIME, short.text, short.remedy)
    try:
        version, status, info = asyncio.run(_ask_runtime(endpoint))
    except (CriError, TimeoutError) as error:
        if pid := _stopped_process(endpoint):
            text = f"{endpoint} does not answer: its process, pid {pid}, is stopped by a signal"
            yield failure(RUNTIME, text, f"kill -CONT {pid}")
            return
        why, remedies = str(error) or f"not within {scaled(SECONDS):g} s", _remedies(agent)
        if isinstance(error, WithoutCri):
            why, remedy = without_cri(agent.managed_log), remedies.errors if agent.managed_runtime else turn_on_cri()
            yield failure(
                RUNTIME, f"{endpoint} answers without CRI: {why}", MORE_INOTIFY if _NO_INOTIFY in why else remedy
            )
            return
        yield failure(RUNTIME, f"{endpoint} does not answer: {why}", remedies.silent)
        return
    yield ok(RUNTIME, f"{version.name} {version.version} at {endpoint}")
    yield from of_status(status, _remedies(agent).errors, info, _network_remedy(agent))


def unprepared(agent: Agent) -> RuntimeSetupError | None:
    """Why a managed runtime would not start here; None: nothing is in its way, or the runtime is not managed."""
    if not agent.managed_runtime:
        return None
    instance = ManagedRuntime(root=agent.managed_runtime_dir, state=agent.managed_state_dir)
    try:
        host = look(agent.root_dir)
        check_network(instance, host, cluster=not agent.standalone, pod_cidr=agent.config.podCIDR)
    except RuntimeSetupError as error:
        return error
    except NoFreeNetwork as error:
        return RuntimeSetupError(str(error))
    return None


def image_directories(agent: Agent) -> dict[str, str]:
    """Where the runtime has images and writable layers, by the names of these disks in eviction signals; empty: it does
    not tell."""
    try:
        found = asyncio.run(_ask_file_systems(agent))
    except (CriError, EndpointError, TimeoutError):
        return {}
    images = next((one.mountpoint for one in found.images if one.mountpoint), "")
    layers = next((one.mountpoint for one in found.containers if one.mountpoint), images)
    return {IMAGE_DISK: images, CONTAINER_DISK: layers} if images else {}


async def _ask_file_systems(agent: Agent) -> ImageFileSystems:
    client = CriClient(agent.runtime_endpoint, agent.image_endpoint)
    try:
        async with asyncio.timeout(scaled(SECONDS)):
            return await client.image_fs_info()
    finally:
        await client.close()


def _stopped_process(endpoint: str) -> int:
    """The pid of the process that listens on the socket, if SIGSTOP or a debugger has stopped it; else 0. The kernel
    accepts connections for it all the same."""
    try:
        pid = listener_pid(socket_of(endpoint), scaled(1.0))
    except OSError:
        return 0
    return pid if pid > 1 and is_stopped(pid) else 0


def _remedies(agent: Agent) -> RuntimeRemedies:
    return RuntimeRemedies(agent.runtime_endpoint, agent.managed_log)


def _network_remedy(agent: Agent) -> str:
    """For the network that the agent makes; empty without a managed runtime."""
    return managed_network(agent.managed_log, cluster=not agent.standalone) if agent.managed_runtime else ""


async def _ask_runtime(endpoint: str) -> tuple[RuntimeVersion, RuntimeStatus, Mapping[str, str]]:
    """The last part, the runtime's own information, only if the network is not ready."""
    client = CriClient(endpoint)
    try:
        async with asyncio.timeout(scaled(SECONDS)):
            version, status = await client.version(), await client.status()
            return version, status, {} if status.network_ready else await client.info()
    finally:
        await client.close()


def of_status(
    status: RuntimeStatus,
    remedy: str = "",
    info: Mapping[str, str] = _NOTHING,
    network_remedy: str = "",
) -> Iterator[Finding]:
    """The findings for the status that the runtime reports. `remedy`: for a runtime that is not ready. `info`: the
    runtime's own information, by its keys; `network_remedy`: for a network that the agent makes. Pure."""
    if not status.runtime_ready:
        why = status.runtime_message or status.message
        yield failure(RUNTIME, f"it says that it is not ready: {why}", remedy)
    if status.network_ready:
        yield ok("pod network", "ready")
    else:
        said = info.get(_CNI_LOADED, "")
        why = status.network_message or status.message
        more = f"; {shortened(said)}" if said and said != _LOADED and said not in why else ""
        yield failure(
            "pod network",
            f"not ready: {why}{more}",
            network_remedy or network_plugin(*_directories(info)),
        )


def _directories(info: Mapping[str, str]) -> tuple[str, ...]:
    """The directories of the runtime's CNI files, in one text; empty: it does not say them. Pure."""
    try:
        found = msgspec.json.decode(info.get(_CNI_CONFIG, "{}"), type=_CniConfig)
    except UNREADABLE:
        return ()
    named = [found.PluginConfDir, *found.PluginDirs] if found.PluginConfDir else []
    return (" ".join(quote(directory) for directory in named),) if named else ()
