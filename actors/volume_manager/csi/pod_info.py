"""The attributes of a pod for its CSI driver, and whether the agent applies its fsGroup. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from actors.shared.kube.pod import Pod
from actors.shared.kube.times import rfc3339

from ..files.projections import DEFAULT_TOKEN_SECONDS, PodTokenRequest
from .api_objects import DriverSpec
from .model import CsiMount, Driver

TOKENS: Final = "csi.storage.k8s.io/serviceAccount.tokens"
_PREFIX: Final = "csi.storage.k8s.io/"


def pod_attributes(pod: Pod, *, ephemeral: bool) -> dict[str, str]:
    """The volume attributes for a driver with podInfoOnMount."""
    return {
        f"{_PREFIX}pod.name": pod.metadata.name,
        f"{_PREFIX}pod.namespace": pod.metadata.namespace,
        f"{_PREFIX}pod.uid": pod.metadata.uid,
        f"{_PREFIX}serviceAccount.name": pod.spec.serviceAccountName,
        f"{_PREFIX}ephemeral": "true" if ephemeral else "false",
    }


def token_requests(pod: Pod, spec: DriverSpec) -> list[PodTokenRequest]:
    """The tokens that the CSIDriver requests for the pod's service account."""
    meta, account = pod.metadata, pod.spec.serviceAccountName or "default"
    return [
        PodTokenRequest(
            meta.namespace,
            account,
            one.audience,
            one.expirationSeconds or DEFAULT_TOKEN_SECONDS,
            meta.name,
            meta.uid,
        )
        for one in spec.tokenRequests
    ]


def tokens_json(requests: Sequence[PodTokenRequest], tokens: Sequence[tuple[str, float]]) -> str:
    """JSON of the tokens and their expiry, by audience. `tokens`: token and expiry for each request."""
    found = {
        request.audience: {"token": token, "expirationTimestamp": rfc3339(expires_at)}
        for request, (token, expires_at) in zip(requests, tokens, strict=True)
    }
    return msgspec.json.encode(found).decode()


def fs_group_to_apply(driver: Driver, spec: DriverSpec, step: CsiMount) -> int | None:
    """The fsGroup that the agent applies; None if there is none or the driver applies it."""
    source = step.source
    if step.group is None or driver.groups or step.read_only or source.block or spec.fsGroupPolicy == "None":
        return None
    if spec.fsGroupPolicy == "File":
        return step.group
    one_node = source.ephemeral or {"ReadWriteOnce", "ReadWriteOncePod"} & set(source.access_modes)
    return step.group if source.fs_type and one_node else None
