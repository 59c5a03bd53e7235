"""Actors written for plain Thespian: they know nothing of ours, and run on any system base."""

from datetime import timedelta
from typing import Any

from thespian.actors import Actor, ActorAddress, ActorExitRequest, ChildActorExited, DeadEnvelope, WakeupMessage


class Echo(Actor):
    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if isinstance(message, dict):
            self.send(sender, {"echo": message["text"], "pair": (1, 2)})


class Parent(Actor):
    """Creates children, asks and ends them, and tells whoever began it what became of that."""

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if message == "create":
            self.client = sender
            self.child = self.createActor(Echo)
            self.send(self.child, {"text": "from parent"})
        elif message == "end child":
            self.client = sender
            self.send(self.child, ActorExitRequest())
        elif message == "wake":
            self.client = sender
            self.wakeupAfter(timedelta(seconds=0.1), payload="soon")
        elif message == "child address":
            self.send(sender, self.child)
        elif isinstance(message, WakeupMessage):
            self.send(self.client, ["woken", message.payload])
        elif isinstance(message, ChildActorExited):
            self.send(self.client, ["exited", message.childAddress == self.child])
        elif isinstance(message, dict):
            self.send(self.client, ["answered", message["echo"]])


class Letters(Actor):
    """Handles dead letters."""

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if message == "handle":
            self.client = sender
            self.handleDeadLetters()
            self.send(sender, "handling")
        elif message == "stop handling":
            self.handleDeadLetters(False)
            self.send(sender, "not handling")
        elif isinstance(message, DeadEnvelope):
            self.send(self.client, ["dead", message.deadMessage])
