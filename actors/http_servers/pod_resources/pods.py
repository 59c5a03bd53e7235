"""The pods of this node as the pod resources API shows them, as plain data. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.pods import TERMINAL_PHASES, all_containers, is_sidecar
from actors.shared.kube.resource_claims import ResourceClaimError, claim_uses


class _Container(msgspec.Struct):
    name: str
    restartPolicy: str = ""


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = "default"
    uid: str = ""


class _Spec(msgspec.Struct):
    containers: list[_Container] = []
    initContainers: list[_Container] = []
    resourceClaims: msgspec.Raw = msgspec.Raw()


class _Status(msgspec.Struct):
    phase: str = ""
    extendedResourceClaimStatus: msgspec.Raw = msgspec.Raw()


class _Pod(msgspec.Struct):
    """The used fields of a v1 Pod; others are skipped."""

    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class _PodList(msgspec.Struct):
    items: list[msgspec.Raw] = []


_decoder: Final = msgspec.json.Decoder(_Pod)


class PodInUse(msgspec.Struct, frozen=True):
    """A pod and its containers that use resources as long as it runs: sidecars, then regular ones."""

    name: str
    namespace: str
    containers: tuple[str, ...]
    uid: str = ""
    ended: bool = False
    """It has succeeded or failed."""
    claims: dict[str, tuple[str, ...]] = {}
    """The names of the resource claims by container; containers without claims are missing."""
    sidecars: int = 0
    """The number of sidecars, which come first in the containers."""


def pods_in_use(pod_list: bytes, *, active_only: bool) -> list[PodInUse]:
    """The pods of a v1 PodList (JSON). `active_only`: without the pods that have ended (gate
    KubeletPodResourcesListUseActivePods). Raises msgspec.DecodeError.
    """
    found = [_pod(bytes(raw)) for raw in msgspec.json.decode(pod_list, type=_PodList).items]
    return [pod for pod in found if not (active_only and pod.ended)]


def _pod(raw: bytes) -> PodInUse:
    """Raises msgspec.DecodeError."""
    pod = _decoder.decode(raw)
    meta, ended = pod.metadata, pod.status.phase in TERMINAL_PHASES
    given = (pod.spec.resourceClaims, pod.status.extendedResourceClaimStatus)
    claims = _claims(raw) if any(map(bytes, given)) else {}
    # an init container frees its resources when it ends; a sidecar is one that does not end (KEP-753)
    sidecars = [each.name for each in pod.spec.initContainers if is_sidecar(each)]
    names = (*sidecars, *(each.name for each in pod.spec.containers))
    return PodInUse(meta.name, meta.namespace, names, meta.uid, ended, claims, len(sidecars))


def _claims(raw: bytes) -> dict[str, tuple[str, ...]]:
    """The names of the claims by container; {} for a pod whose claims do not exist yet."""
    try:
        pod = decode_pod(raw)
        uses = {one.name: claim_uses(pod, one, extended=True) for one in all_containers(pod)}
    except (ObjectError, ResourceClaimError):
        return {}
    return {name: tuple(dict.fromkeys(use.claim for use in found)) for name, found in uses.items() if found}


def find(pods: list[PodInUse], namespace: str, name: str) -> PodInUse | None:
    return next((pod for pod in pods if (pod.namespace, pod.name) == (namespace, name)), None)
