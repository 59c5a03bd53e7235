"""What a driver is told of a pod, and whether the agent applies its fsGroup. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

import msgspec

from actors.shared.kube.pod import Pod

from ..files.projections import DEFAULT_TOKEN_SECONDS, PodTokenRequest
from .api_objects import DriverSpec
from .model import CsiMount, Driver

TOKENS: Final = "csi.storage.k8s.io/serviceAccount.tokens"
_PREFIX: Final = "csi.storage.k8s.io/"


def pod_attributes(pod: Pod, *, ephemeral: bool) -> dict[str, str]:
    """For drivers with podInfoOnMount."""
    return {
        f"{_PREFIX}pod.name": pod.metadata.name,
        f"{_PREFIX}pod.namespace": pod.metadata.namespace,
        f"{_PREFIX}pod.uid": pod.metadata.uid,
        f"{_PREFIX}serviceAccount.name": pod.spec.serviceAccountName,
        f"{_PREFIX}ephemeral": "true" if ephemeral else "false",
    }


def tokens_wanted(pod: Pod, spec: DriverSpec) -> list[PodTokenRequest]:
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


def tokens_text(wanted: Sequence[PodTokenRequest], got: Sequence[tuple[str, float]]) -> str:
    """JSON of the tokens and their ends, by audience."""
    found = {
        one.audience: {"token": token, "expirationTimestamp": _time(ends)}
        for one, (token, ends) in zip(wanted, got, strict=True)
    }
    return msgspec.json.encode(found).decode()


def given_group(driver: Driver, spec: DriverSpec, step: CsiMount) -> int | None:
    """The fsGroup that the agent applies; None where there is none, or the driver applies it."""
    source = step.source
    if step.group is None or driver.groups or step.read_only or spec.fsGroupPolicy == "None":
        return None
    if spec.fsGroupPolicy == "File":
        return step.group
    once = source.ephemeral or {"ReadWriteOnce", "ReadWriteOncePod"} & set(source.access_modes)
    return step.group if source.fs_type and once else None


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
