"""Chooses the client certificate for the API server: the kubeconfig's own, or the stored pair instead.

For `supervise status` and `supervise doctor`; the agent's own rule is `actors.cert_manager.client_plan.decide`.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import msgspec

from actors.cert_manager import certificate
from actors.cert_manager.certificate import Certificate, UnusableCertificate
from actors.cert_manager.client_plan import ORGANIZATION
from actors.cert_manager.rotation import ended
from actors.shared.api.kubeconfig_check import KubeconfigError, check_file
from actors.shared.api.kubeconfig_files import read_bounded


class ShownCertificate(msgspec.Struct, frozen=True):
    where: str
    """`that of KUBECONFIG`, or the path of the stored pair."""
    pem: bytes
    stored: bool = False
    """It is the stored pair, which the kubeconfig does not name."""


def in_use(kubeconfig: str, stored: str, now: float) -> ShownCertificate | None:
    """`stored`: path of kubelet-client-current.pem. `now`: seconds since 1970.

    None: the kubeconfig has other credentials or cannot be read, which others report. Raises OSError.
    """
    pair = ShownCertificate(stored, read_bounded(stored), stored=True) if os.path.exists(stored) else None
    if not os.path.exists(kubeconfig):
        return pair
    own = _certificate_of(kubeconfig, stored)
    if own is None or pair is None or own.where == stored:
        return own
    return pair if _takes_its_place(_read(pair.pem), _read(own.pem), now) else own


def _certificate_of(kubeconfig: str, stored: str) -> ShownCertificate | None:
    try:
        checked = check_file(kubeconfig)
    except KubeconfigError:
        return None
    user = checked.document["users"][0]["user"]
    if data := user.get("client-certificate-data"):
        return ShownCertificate(f"that of {kubeconfig}", base64.b64decode(data))
    if path := user.get("client-certificate"):
        path = os.path.join(os.path.dirname(checked.path), path)
        same = os.path.realpath(path) == os.path.realpath(stored)
        return ShownCertificate(stored if same else f"that of {kubeconfig}", Path(path).read_bytes())
    return None


def _takes_its_place(pair: Certificate | None, own: Certificate | None, now: float) -> bool:
    """Whether the agent uses the stored pair: of the same node, and valid for longer."""
    if pair is None or own is None or ended(pair, now) or ORGANIZATION not in pair.organizations:
        return False
    return pair.common_name == own.common_name and pair.not_after > own.not_after


def _read(pem: bytes) -> Certificate | None:
    try:
        return certificate.read(pem)
    except UnusableCertificate:
        return None
