"""The table of volume types, and the plan of a pod's volumes by it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from actors.shared.kube.pods import used_volumes
from actors.shared.kube.volumes import Volume
from actors.volume_manager.persistent_volumes.volume_claims import (
    ClaimedVolume,
    UnusableVolume,
    VolumeClaimError,
    check_use,
    checked_name,
    claim_error,
)
from actors.volume_manager.volume_paths import is_name

from . import (
    claim,
    config_map,
    csi,
    downward_api,
    empty_dir,
    fc,
    flex_volume,
    host_path,
    image,
    iscsi,
    local,
    migrated,
    nfs,
    projected,
    secret,
)
from .base import Mounter, PendingVolume, Plan, PodContext, RejectedVolume, VolumeType
from .unsupported import unsupported

MOUNTED: Final[tuple[VolumeType, ...]] = (
    empty_dir.TYPE,
    host_path.TYPE,
    secret.TYPE,
    config_map.TYPE,
    projected.TYPE,
    downward_api.TYPE,
    nfs.TYPE,
    csi.TYPE,
    image.TYPE,
    local.TYPE,
    iscsi.TYPE,
    fc.TYPE,
    flex_volume.TYPE,
    *migrated.TYPES,
    *claim.TYPES,
)
TYPES: Final = (*MOUNTED, *unsupported({one.source for one in MOUNTED}))
BY_SOURCE: Final[Mapping[str, VolumeType]] = {one.source: one for one in TYPES}


def type_of(volume: Volume) -> VolumeType | None:
    """The type of a volume, by the source that is set; None without a source."""
    return next((BY_SOURCE[name] for name, _ in volume.sources() if name in BY_SOURCE), None)


def plan(
    context: PodContext,
    claims: Mapping[str, ClaimedVolume | UnusableVolume | str] | None = None,
    *,
    joined: bool = False,
) -> list[Plan]:
    """The plan of each volume that a container uses, in the pod's order.

    `claims`: by volume, the claimed volume, why it is unavailable, or the error's text; `joined`: there is an API
    server.
    """
    used = used_volumes(context.pod)
    volumes = (volume for volume in context.pod.spec.volumes if volume.name in used)
    return [_plan_one(volume, context, claims or {}, joined) for volume in volumes]


def needs_node_memory(volumes: list[Volume], *, joined: bool) -> bool:
    """Whether the plan of a volume needs the node's memory."""
    types = ((found, volume) for volume in volumes if (found := type_of(volume)) is not None)
    return any(found.in_memory(volume) for found, volume in types if joined or not found.needs_api)


def _plan_one(
    volume: Volume, context: PodContext, claims: Mapping[str, ClaimedVolume | UnusableVolume | str], joined: bool
) -> Plan:
    name, found = volume.name, type_of(volume)
    if not is_name(name):
        return RejectedVolume(name, f"volume {name!r}: the name must be a DNS label")
    if found is None:
        return RejectedVolume(name, f"volume {name!r} has no source that this agent knows")
    if found.needs_api and not joined:
        text = f"needs {found.needs_api}, and this node has not joined an API server"
        return RejectedVolume(name, f"volume {name!r}: source {found.source} {text}")
    if name in claims:
        return _plan_claim(name, claims[name], context)
    if found.plan is None:
        return RejectedVolume(name, f"volume {name!r}: source {found.source} is one of PersistentVolumes only")
    return found.plan(volume, context)


def _plan_claim(name: str, claimed: ClaimedVolume | UnusableVolume | str, context: PodContext) -> Plan:
    if isinstance(claimed, str):
        return PendingVolume(name, claimed)
    if isinstance(claimed, UnusableVolume):
        return PendingVolume(name, claimed.error.text, claimed)
    try:
        for found in TYPES:
            if found.plan_claim is not None and getattr(claimed.persistent.spec, found.source) is not None:
                check_use(context.pod, claimed)
                if claimed.is_block and not found.has_devices:
                    raise VolumeClaimError(f"PV {claimed.name}: source {found.source} has no volumes of the mode Block")
                made = found.plan_claim(claimed, context)
                return replace(made, persistent=checked_name(claimed)) if isinstance(made, Mounter) else made
        supported = ", ".join(sorted(found.source for found in TYPES if found.plan_claim is not None))
        raise VolumeClaimError(f"PV {claimed.name}: its source is not supported by this agent, only {supported}")
    except VolumeClaimError as error:
        return PendingVolume(name, claim_error(context.pod, claimed.claim, error))
