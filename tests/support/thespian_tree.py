"""A supervised tree of plain Thespian actors, and one of ours among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thespian.actors import Actor, ActorAddress, ActorExitRequest

from supervision.application import Application
from supervision.spec import ChildSpec, Policy, walk

HERE, PLAIN = "tests.support.thespian_tree", "tests.support.thespian_actors"
GOODBYE = "goodbye"


class Polite(Actor):
    """Leaves a file when it is asked to exit."""

    def __init__(self, directory: str) -> None:
        super().__init__()
        self._directory = directory

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if isinstance(message, ActorExitRequest):
            (Path(self._directory) / GOODBYE).touch()


class Breaking(Actor):
    """Answers, unless it is told to raise."""

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if message == "raise":
            raise ZeroDivisionError("as ordered")
        if isinstance(message, dict):
            self.send(sender, {"echo": message["text"]})


def application(run_dir: Path) -> Application:
    """root: echo, parent, polite, group (supervisor): group/breaking."""
    tree = ChildSpec(
        name="root",
        children=(
            ChildSpec(name="echo", actor=f"{PLAIN}:Echo"),
            ChildSpec(name="parent", actor=f"{PLAIN}:Parent"),
            ChildSpec(name="polite", actor=f"{HERE}:Polite", arguments={"directory": str(run_dir.parent)}),
            ChildSpec(name="group", children=(ChildSpec(name="breaking", actor=f"{HERE}:Breaking"),)),
        ),
    )
    quick = Policy(heartbeat_seconds=2.0, shutdown_seconds=2.0)
    return Application(name="test", tree=tree, policies={name: quick for name, _, _ in walk(tree)}, run_dir=run_dir)
