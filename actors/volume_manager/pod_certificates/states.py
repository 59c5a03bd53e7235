"""The states of one certificate of a pod. Pure.

Without a certificate it is requested, and awaited. One that is issued is requested again when it is due, and serves
until the next one is issued. A denied or failed request is final for the pod. The texts are the kubelet's.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

import msgspec

from actors.shared.kube.go_text import quoted

JITTER_SECONDS: Final = 300.0
"""The longest delay of a renewal after the time that the signer names, so that not all pods renew at once."""
ABANDON_SECONDS: Final = 600.0
"""A request that the API server has not shown for so long (plus jitter) counts as deleted."""
OVERDUE_SECONDS: Final = 600.0
"""A certificate that is so much older than its time of renewal is overdue."""
NOT_ISSUED: Final = "credential bundle is not issued yet"


class PodCredentials(msgspec.Struct, frozen=True):
    """PEM: the private key (PKCS #8), and the certificates, the pod's own first. `error`: why there are none."""

    key: bytes = b""
    chain: bytes = b""
    error: str = ""


class IssuedCertificate(msgspec.Struct, frozen=True):
    """Times are seconds since 1970."""

    credentials: PodCredentials
    renew_at: float
    ends_at: float
    emitted_reasons: frozenset[str] = frozenset()
    """Reasons of the events about its age that were sent."""


class AwaitedCertificate(msgspec.Struct, frozen=True):
    """A request that the signer has not answered."""

    request: str
    """The name of the PodCertificateRequest."""
    key: bytes
    """PEM."""
    abandon_at: float
    """Seconds since 1970."""


class RefusedCertificate(msgspec.Struct, frozen=True):
    how: Literal["denied", "failed"]
    reason: str
    message: str


class PodCertificateState(msgspec.Struct, frozen=True):
    """`refused` alone, or any of the other two; nothing: not requested yet."""

    issued: IssuedCertificate | None = None
    awaited: AwaitedCertificate | None = None
    refused: RefusedCertificate | None = None


class RequestStatus(msgspec.Struct, frozen=True):
    """A PodCertificateRequest as the API server has it. Times are seconds since 1970."""

    outcome: Literal["pending", "issued", "denied", "failed"] = "pending"
    reason: str = ""
    message: str = ""
    chain: bytes = b""
    """PEM, when issued."""
    renew_at: float = 0.0
    ends_at: float = 0.0


class CertificateEvent(msgspec.Struct, frozen=True):
    """A warning for the pod."""

    reason: str
    text: str


class CertificateAction(Enum):
    REQUEST = "request"
    """Make a key, and a request for it."""
    LOOK = "look"
    """Look at the awaited request."""
    REST = "rest"


OVERDUE: Final = CertificateEvent("CertificateOverdueForRefresh", "PodCertificate refresh overdue")
EXPIRED: Final = CertificateEvent("CertificateExpired", "PodCertificate expired")


def next_action(state: PodCertificateState, now: float) -> CertificateAction:
    if state.refused is not None:
        return CertificateAction.REST
    if state.awaited is not None:
        return CertificateAction.LOOK
    due = state.issued is None or now >= state.issued.renew_at
    return CertificateAction.REQUEST if due else CertificateAction.REST


def requested(state: PodCertificateState, request: str, key: bytes, now: float, jitter: float) -> PodCertificateState:
    """A request was created. `jitter`: a random share of JITTER_SECONDS, from 0 to 1."""
    awaited = AwaitedCertificate(request, key, now + ABANDON_SECONDS + JITTER_SECONDS * jitter)
    return PodCertificateState(state.issued, awaited)


class LookedAt(msgspec.Struct, frozen=True):
    """The result of a look at the awaited request."""

    state: PodCertificateState
    event: CertificateEvent | None = None
    error: str = ""


def looked_at(
    state: PodCertificateState, where: str, status: RequestStatus | None, now: float, jitter: float
) -> LookedAt:
    """`where`: namespace/name of the awaited request; `status`: None if the API server does not have it; `jitter`: as
    above."""
    awaited = state.awaited
    if awaited is None:
        return LookedAt(state)
    if status is None:
        # it may not be shown yet, or it was deleted: nothing tells the two apart but time
        if now <= awaited.abandon_at:
            return LookedAt(state)
        error = f"PodCertificateRequest {quoted(where)} appears to have been deleted"
        return LookedAt(PodCertificateState(state.issued), error=error)
    if status.outcome == "issued":
        renew_at = status.renew_at + JITTER_SECONDS * jitter
        made = IssuedCertificate(PodCredentials(awaited.key, status.chain), renew_at, status.ends_at)
        return LookedAt(PodCertificateState(made))
    if status.outcome == "pending":
        return LookedAt(state)
    refused = RefusedCertificate(status.outcome, status.reason, status.message)
    how, reason = ("was denied", "Denied") if status.outcome == "denied" else ("failed", "Failed")
    why = f"reason={quoted(status.reason)}, message={quoted(status.message)}"
    event = CertificateEvent(reason, f"PodCertificateRequest {where} {how}, {why}")
    return LookedAt(PodCertificateState(refused=refused), event)


def warned(state: PodCertificateState, now: float) -> tuple[PodCertificateState, list[CertificateEvent]]:
    """The events about the age of a certificate that have become due, each once."""
    issued = state.issued
    if issued is None:
        return state, []
    due = [(OVERDUE, issued.renew_at + OVERDUE_SECONDS), (EXPIRED, issued.ends_at)]
    events = [event for event, at in due if now > at and event.reason not in issued.emitted_reasons]
    emitted_reasons = issued.emitted_reasons | {event.reason for event in events}
    return msgspec.structs.replace(
        state, issued=msgspec.structs.replace(issued, emitted_reasons=emitted_reasons)
    ), events


def credentials_of(state: PodCertificateState) -> PodCredentials:
    """What the pod gets; also an expired certificate, as from the kubelet."""
    if state.refused is not None:
        refused = state.refused
        why = f"reason={quoted(refused.reason)} message={quoted(refused.message)}"
        return PodCredentials(error=f"PodCertificateRequest was permanently {refused.how}: {why}")
    return state.issued.credentials if state.issued is not None else PodCredentials(error=NOT_ISSUED)


def metric_state(state: PodCertificateState, now: float) -> str:
    """The label `state` of kubelet_podcertificate_states."""
    if state.refused is not None:
        return state.refused.how
    if state.issued is None:
        return "not_yet_issued"
    if now > state.issued.ends_at:
        return "expired"
    return "overdue_for_refresh" if now > state.issued.renew_at + OVERDUE_SECONDS else "fresh"
