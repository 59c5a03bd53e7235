"""Follows the ConfigMap that is assigned to the node, and sends it to config_controller."""

from __future__ import annotations

import logging
from collections.abc import Callable

from actors.api_clients.kube_client.messages import ObjectState
from actors.config_controller.messages import CONFIG_CONTROLLER, ConfigMapAssigned
from supervision.addresses import ActorName

from .assigned_config import Assignment, assigned, assignment
from .object_cache import NODE, ObjectCache


class AssignedConfigFeed:
    """`tell`: as Actor.tell."""

    def __init__(self, tell: Callable[[ActorName, ConfigMapAssigned], None], log: logging.Logger) -> None:
        self._tell, self._log = tell, log
        self._assignment: Assignment | None = None
        self._forbidden = False
        """The node must not read the ConfigMap, which was reported."""

    @property
    def follows(self) -> bool:
        return self._assignment is not None

    def follow(self, annotations: dict[str, str], objects: ObjectCache) -> None:
        """Apply the node's annotations. An invalid one leaves the configuration unchanged."""
        try:
            assigned_now = assignment(annotations)
        except ValueError as error:
            self._log.error("%s", error)
            return
        if assigned_now == self._assignment:
            return
        before, self._assignment, self._forbidden = self._assignment, assigned_now, False
        objects.refer(NODE, {assigned_now.ref: True} if assigned_now is not None else {})
        if assigned_now is None:
            self._tell(CONFIG_CONTROLLER, ConfigMapAssigned())
        elif before is not None and before.ref == assigned_now.ref:
            # another key of a ConfigMap that is known already
            objects.tell_all()

    def object_changed(self, state: ObjectState) -> None:
        """Send the ConfigMap, if this is it."""
        if self._assignment is None or self._assignment.ref != state.ref:
            return
        try:
            self._tell(CONFIG_CONTROLLER, assigned(self._assignment, state))
        except ValueError as error:
            self._log.error("the assigned configuration is unusable: %s", error)

    def report_forbidden(self, objects: ObjectCache) -> None:
        """Report once that the node must not read the ConfigMap, until the server answers otherwise. Other errors are
        logged for all requests."""
        error = objects.error(self._assignment.ref) if self._assignment is not None else None
        forbidden = error is not None and error.reason == "Forbidden"
        if forbidden and not self._forbidden and error is not None:
            self.object_changed(error)
        self._forbidden = forbidden
