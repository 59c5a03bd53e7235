"""A small tree around the real config controller: two actors that read it, and one that can be made to fail."""

from __future__ import annotations

import os
from pathlib import Path

from actors.config_controller.declaration import DECLARATION
from actors.shared.config.loading import load
from actors.tree import RELATIONS
from supervision.actor import Actor, Address, on
from supervision.application import Application
from supervision.message import Message
from supervision.spec import ChildSpec, Policy
from tests.support.incident_file import IncidentFile

HERE = "tests.support.config_tree"


class GetMaxPods(Message, frozen=True):
    pass


class MaxPods(Message, frozen=True):
    value: int


class Break(Message, frozen=True):
    pass


class PodsReader(Actor):
    """Takes the place of the container manager."""

    @on(GetMaxPods)
    def on_get(self, message: GetMaxPods, sender: Address) -> MaxPods:
        return MaxPods(self.context.config.maxPods)


class Reader(Actor):
    """Takes the place of the image manager."""

    @on(GetMaxPods)
    def on_get(self, message: GetMaxPods, sender: Address) -> MaxPods:
        return MaxPods(self.context.config.imageGCHighThresholdPercent)


class Fragile(Actor):
    @on(Break)
    def on_break(self, message: Break, sender: Address) -> None:
        raise ZeroDivisionError("as ordered")


def application(run_dir: Path) -> Application:
    """root: config_controller, container_manager (reads maxPods), group (supervisor): group/fragile."""
    agent = load(os.environ["AGENT_FLAGS"].split())
    tree = ChildSpec(
        name="root",
        children=(
            ChildSpec(
                name="config_controller",
                actor="actors.config_controller.actor:ConfigController",
                arguments=DECLARATION.arguments(RELATIONS),
            ),
            ChildSpec(name="container_manager", actor=f"{HERE}:PodsReader"),
            ChildSpec(name="image_manager", actor=f"{HERE}:Reader"),
            ChildSpec(name="group", children=(ChildSpec(name="fragile", actor=f"{HERE}:Fragile"),)),
        ),
    )
    return Application(
        name="test",
        tree=tree,
        policies={"group/fragile": Policy(max_restarts=0), "root": Policy(max_restarts=20)},
        context=agent,
        refresh="actors.config_controller.session:refreshed",
        run_dir=run_dir,
        incidents=IncidentFile(run_dir.parent / "incidents"),
    )
