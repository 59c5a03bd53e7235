"""The rows of "Where it differs" in docs/decisions/thespian.md that the contract of all bases does not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from thespian.actors import (
    Actor,
    ActorAddress,
    ActorExitRequest,
    ActorSystem,
    ChildActorExited,
    InvalidActorSpecification,
)
from thespian.runcommand import Command, RunCommand  # type: ignore[import-untyped]

from supervision.system_base import NativeBase
from tests.support.thespian_actors import Echo, Parent

pytestmark = pytest.mark.tree


class Differs(Actor):
    """Does what its orders say, and tells whoever gave them what came of it."""

    client: ActorAddress

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if isinstance(message, ChildActorExited):
            self.send(self.client, "child exited")
            return
        if not isinstance(message, str):
            return
        self.client, whole = sender, cast(Any, self)
        if message == "raise":
            raise RuntimeError("on purpose")
        if message == "create failing":
            self.child = self.createActor(Differs)
            self.send(self.child, "raise")
        elif message == "create unknown":
            self.createActor("no.such.module.Class")
        elif message == "send object":
            self._tell_outcome(lambda: self.send(sender, lambda: 0))
        elif message == "answer with an exit request":
            self.send(sender, ActorExitRequest())
        elif message == "capabilities":
            self._tell_outcome(lambda: whole.updateCapability("x", True))
        elif message == "registrations":
            self._tell_outcome(lambda: whole.notifyOnSystemRegistrationChanges(True))
        elif message == "sources":
            self._tell_outcome(lambda: whole.loadActorSource("x.zip"))

    def _tell_outcome(self, do: Any) -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - its type is what is told
            self.send(self.client, type(error).__name__)
        else:
            self.send(self.client, "nothing was raised")


@pytest.fixture
def system() -> Iterator[Any]:
    found = ActorSystem(NativeBase(), transientUnique=True)
    try:
        yield found
    finally:
        found.shutdown()


@pytest.fixture
def differs(system: Any) -> Any:
    return system.createActor(Differs)


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        ("send object", "TypeError"),
        ("capabilities", "AttributeError"),
        ("registrations", "AttributeError"),
        ("sources", "AttributeError"),
    ],
)
def test_a_missing_feature_raises_where_it_is_called(system: Any, differs: Any, order: str, outcome: str) -> None:
    assert system.ask(differs, order, 5) == outcome


@pytest.mark.parametrize("call", ["updateCapability", "loadActorSource", "preRegisterRemoteSystem"])
def test_a_call_that_is_not_supported_is_an_error_from_outside_too(system: Any, call: str) -> None:
    with pytest.raises(AttributeError):
        getattr(system, call)("x", "y") if call != "loadActorSource" else system.loadActorSource("x.zip")


def test_an_exception_ends_the_actor_notifies_its_parent_and_sends_no_poison_message(system: Any, differs: Any) -> None:
    assert system.ask(differs, "create failing", 10) == "child exited"


def test_a_child_of_a_missing_class_ends_and_notifies_its_parent(system: Any, differs: Any) -> None:
    assert system.ask(differs, "create unknown", 10) == "child exited"


def test_a_missing_class_is_refused_from_outside(system: Any) -> None:
    with pytest.raises((ImportError, InvalidActorSpecification)):
        system.createActor("no.such.module.Class")


def test_an_ask_from_outside_returns_no_message_of_thespians_own(system: Any, differs: Any) -> None:
    assert system.ask(differs, "answer with an exit request", 1) is None


def test_children_end_with_their_parent_in_any_case(system: Any) -> None:
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    _, child = system.ask(parent, "child address", 5)
    assert system.ask(child, {"text": "here"}, 5)["echo"] == "here"
    system.tell(parent, ActorExitRequest(recursive=False))
    for _ in range(50):
        if system.ask(child, {"text": "here"}, 0.2) is None:
            return
    pytest.fail("the child goes on")


def test_run_command_runs_a_command(system: Any) -> None:
    found = system.ask(system.createActor(RunCommand), Command("echo", ["hello"]), 10)
    assert (found.exitcode, found.stdout.strip()) == (0, "hello")


def test_requirements_of_an_actor_are_not_looked_at(system: Any) -> None:
    echo = system.createActor(Echo, targetActorRequirements={"GPU": True})
    assert system.ask(echo, {"text": "anywhere"}, 5)["echo"] == "anywhere"
