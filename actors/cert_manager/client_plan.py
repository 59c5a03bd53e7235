"""The next action for the node's client certificate, by the state of the files. Pure: one table.

The rules are the kubelet's (kubernetes.io, "TLS bootstrapping"): a kubeconfig that works wins; one that does not is
replaced with the bootstrap credentials, if there are any. Two rules are this agent's own: a kubeconfig with credentials
other than a certificate is left to the operator, and a usable pair in the store is used before a new one is requested.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from .certificate import Certificate
from .rotation import ended, is_due

ORGANIZATION: Final = "system:nodes"


class Config(StrEnum):
    """The state of the kubeconfig."""

    ABSENT = "absent"
    BROKEN = "broken"
    """It cannot be read, or it names a certificate that is missing or cannot be read."""
    ENDED = "ended"
    """Its certificate has expired."""
    GOOD = "good"
    """Its certificate has not expired."""
    OTHER = "other"
    """It has other credentials (a token, a plugin, ...) and no certificate."""


class Bootstrap(StrEnum):
    """The state of the bootstrap kubeconfig."""

    ABSENT = "absent"
    """Not given, or missing (kubeadm removes it after the join)."""
    BROKEN = "broken"
    USABLE = "usable"


class KubeconfigAction(StrEnum):
    USE = "use"
    """Use the kubeconfig unchanged."""
    ADOPT = "adopt"
    """Use the kubeconfig, with the store's pair instead of its own."""
    WRITE = "write"
    """Write a kubeconfig that names the store's pair."""
    BOOTSTRAP = "bootstrap"
    """Request a certificate with the bootstrap credentials."""
    ENDED = "ended"
    """Use the expired certificate, because there is no other: the server decides whether it accepts it."""
    WAIT = "wait"
    """Wait until an operator provides a file."""


class ClientFacts(msgspec.Struct, frozen=True):
    config: Config
    bootstrap: Bootstrap
    stored: bool
    """The store has a pair of this node that has not expired."""
    newer: bool = False
    """The store's certificate expires later than the kubeconfig's."""
    fresh: bool = False
    """The kubeconfig was written a moment ago, and may not be complete yet."""


def decide(facts: ClientFacts) -> KubeconfigAction:
    """The action for these facts; the first match counts."""
    match facts:
        case ClientFacts(config=Config.OTHER):
            return KubeconfigAction.USE
        case ClientFacts(config=Config.GOOD):
            return KubeconfigAction.ADOPT if facts.stored and facts.newer else KubeconfigAction.USE
        case ClientFacts(config=Config.BROKEN, fresh=True):
            return KubeconfigAction.WAIT
        case ClientFacts(bootstrap=Bootstrap.USABLE):
            return KubeconfigAction.WRITE if facts.stored else KubeconfigAction.BOOTSTRAP
        case ClientFacts(config=Config.ENDED):
            return KubeconfigAction.ADOPT if facts.stored else KubeconfigAction.ENDED
        case _:
            return KubeconfigAction.WAIT


def node_user(node_name: str) -> str:
    """The user name of a node (API documentation, "Using Node Authorization")."""
    return f"system:node:{node_name}"


def is_of_node(certificate: Certificate, node_name: str) -> bool:
    return certificate.common_name == node_user(node_name) and ORGANIZATION in certificate.organizations


def to_rotate(certificate: Certificate | None, node_name: str, now: float, *, enabled: bool) -> bool:
    """Whether the certificate in use must be rotated now. `enabled`: rotateCertificates."""
    if certificate is None or not enabled or not is_of_node(certificate, node_name):
        return False
    return is_due(certificate, now)


def needs_storing(facts: ClientFacts, certificate: Certificate | None, node_name: str) -> bool:
    """Whether to put the kubeconfig's pair into an empty store, as the kubelet does: kubeadm looks for it there, and
    names it in the kubeconfig of a new control plane."""
    good = facts.config is Config.GOOD and not facts.stored
    return good and certificate is not None and is_of_node(certificate, node_name)


def config_of(certificate: Certificate | None, now: float) -> Config:
    """The state of a readable kubeconfig, by its certificate (None: it has other credentials)."""
    if certificate is None:
        return Config.OTHER
    return Config.ENDED if ended(certificate, now) else Config.GOOD
