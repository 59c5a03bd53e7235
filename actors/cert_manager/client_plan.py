"""What is to be done for the node's client certificate, by the state of the files. Pure: one table.

The rules are the reference's (kubernetes.io, "TLS bootstrapping"): a kubeconfig that works wins; one that does not is
replaced by means of the bootstrap kubeconfig, if there is one. Beyond it: a kubeconfig that has other credentials than
a certificate is the operator's affair, and a usable pair in the store is taken before another one is asked for.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from .certificate import Certificate
from .rotation import ended, is_due

ORGANIZATION: Final = "system:nodes"


class Config(StrEnum):
    """What the kubeconfig comes to."""

    ABSENT = "absent"
    BROKEN = "broken"
    """Or it names a certificate that is not there or cannot be read."""
    ENDED = "ended"
    """Its certificate has ended."""
    GOOD = "good"
    """Its certificate has not ended."""
    OTHER = "other"
    """It has a token, a plugin, ... and no certificate."""


class Bootstrap(StrEnum):
    """What the bootstrap kubeconfig comes to."""

    ABSENT = "absent"
    """Not given, or not there (kubeadm removes it after the join)."""
    BROKEN = "broken"
    USABLE = "usable"


class Action(StrEnum):
    USE = "use"
    """The kubeconfig as it is."""
    ADOPT = "adopt"
    """The kubeconfig, with the store's pair in place of its own."""
    WRITE = "write"
    """Write a kubeconfig that names the store's pair."""
    BOOTSTRAP = "bootstrap"
    """Ask for a certificate with the bootstrap credentials."""
    ENDED = "ended"
    """Its certificate has ended and there is no other way; the server is to say whether it takes it still."""
    WAIT = "wait"
    """Nothing can be done until somebody puts a file there."""


class Facts(msgspec.Struct, frozen=True):
    config: Config
    bootstrap: Bootstrap
    stored: bool
    """There is a pair of this node in the store, and it has not ended."""
    newer: bool = False
    """It ends later than that of the kubeconfig."""
    fresh: bool = False
    """The kubeconfig was written a moment ago, and perhaps not to its end yet."""


def decide(facts: Facts) -> Action:
    """The rows, first match wins."""
    match facts:
        case Facts(config=Config.OTHER):
            return Action.USE
        case Facts(config=Config.GOOD):
            return Action.ADOPT if facts.stored and facts.newer else Action.USE
        case Facts(config=Config.BROKEN, fresh=True):
            return Action.WAIT
        case Facts(bootstrap=Bootstrap.USABLE):
            return Action.WRITE if facts.stored else Action.BOOTSTRAP
        case Facts(config=Config.ENDED):
            return Action.ADOPT if facts.stored else Action.ENDED
        case _:
            return Action.WAIT


def node_user(node_name: str) -> str:
    """The user that a node is (API documentation, "Using Node Authorization")."""
    return f"system:node:{node_name}"


def is_of_node(certificate: Certificate, node_name: str) -> bool:
    return certificate.common_name == node_user(node_name) and ORGANIZATION in certificate.organizations


def to_rotate(certificate: Certificate | None, node_name: str, now: float, *, wanted: bool) -> bool:
    """Whether the certificate in use is to be replaced by one that its own credentials ask for."""
    if certificate is None or not wanted or not is_of_node(certificate, node_name):
        return False
    return is_due(certificate, now)


def to_keep(facts: Facts, certificate: Certificate | None, node_name: str) -> bool:
    """Whether the pair of the kubeconfig is to be put in a store that has none, as the reference does: kubeadm looks
    for it there, and names it in the kubeconfig of a control plane that it has just made."""
    good = facts.config is Config.GOOD and not facts.stored
    return good and certificate is not None and is_of_node(certificate, node_name)


def config_of(certificate: Certificate | None, now: float) -> Config:
    """Of a kubeconfig that could be read, by its certificate (None: it has other credentials)."""
    if certificate is None:
        return Config.OTHER
    return Config.ENDED if ended(certificate, now) else Config.GOOD
