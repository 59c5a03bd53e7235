"""Logs the client certificate: each problem once, and its validity when that changes."""

from __future__ import annotations

import logging
from typing import NamedTuple

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.kube.times import rfc3339

from .certificate import Certificate
from .client_plan import KubeconfigAction, is_of_node
from .client_state import ClientState
from .rotation import due_at, is_due


class ClientHealth(NamedTuple):
    """Whether there is a client certificate, and why not."""

    known: bool
    problem: str = ""
    """Why there is none; '' if there is one, or while that is not known."""


def health_of(state: ClientState, agent: Agent) -> ClientHealth:
    """Pure."""
    if state.store_problem:
        return ClientHealth(True, state.store_problem)
    if state.action is KubeconfigAction.WAIT and not state.fresh:
        text = f"no credentials for the API server: {state.config_problem}; {state.bootstrap_problem}"
        return ClientHealth(True, text)
    if state.action is KubeconfigAction.ENDED and state.certificate is not None:
        text = (
            f"the client certificate of {agent.kubeconfig} expired at {rfc3339(state.certificate.not_after)}, and "
            f"{state.bootstrap_problem}: replace it with a kubeconfig that has a valid certificate"
        )
        return ClientHealth(True, text)
    return ClientHealth(state.action in (KubeconfigAction.USE, KubeconfigAction.ADOPT))


class _Validity(msgspec.Struct, frozen=True):
    """The validity that was last logged."""

    fingerprint: str = ""
    due: bool = False


class ClientReport:
    """Logs changes only."""

    def __init__(self, log: logging.Logger, agent: Agent) -> None:
        self._log, self._agent = log, agent
        self._problem = ""
        self._validity = _Validity()

    def health(self, found: ClientHealth) -> None:
        """Log a new problem."""
        if not found.known:
            return
        if found.problem and found.problem != self._problem:
            self._log.error("%s", found.problem)
        self._problem = found.problem

    def validity(self, certificate: Certificate | None, now: float) -> None:
        """Log the validity of the certificate when it is first used, and again when it is due for rotation."""
        if certificate is None:
            return
        validity = _Validity(certificate.fingerprint, is_due(certificate, now))
        if validity == self._validity:
            return
        self._validity = validity
        user, end = certificate.common_name, rfc3339(certificate.not_after)
        if self._agent.config.rotateCertificates and is_of_node(certificate, self._agent.node_name):
            text = "client certificate of %s, valid until %s, rotated from %s"
            self._log.info(text, user, end, rfc3339(due_at(certificate)))
        elif validity.due:
            self._log.warning(
                "client certificate of %s expires at %s, and is not rotated (rotateCertificates)", user, end
            )
        else:
            self._log.info("client certificate of %s, valid until %s, not rotated", user, end)
