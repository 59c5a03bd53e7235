"""Actors written for plain Thespian: they know nothing of ours, and run on any system base."""

import os
from datetime import timedelta
from typing import Any

from thespian.actors import Actor, ActorAddress, ActorExitRequest, ChildActorExited, DeadEnvelope, WakeupMessage


class Letter:
    """A message of a class of its own, as most programs on Thespian have them."""

    def __init__(self, text: str, reply_to: ActorAddress) -> None:
        self.text, self.reply_to = text, reply_to


class Echo(Actor):
    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if isinstance(message, Letter):
            self.send(sender, Letter(f"answer to {message.text}", message.reply_to))
        if isinstance(message, dict):
            self.send(sender, {"echo": message["text"], "pair": (1, 2)})
        if message == "process":
            self.send(sender, ["process", os.getpid()])


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
        elif message == "wake after seconds":
            self.client = sender
            self.wakeupAfter(0.1, payload="in seconds")
        elif message == "child address":
            self.send(sender, ["child address", self.child])
        elif isinstance(message, WakeupMessage):
            self.send(self.client, ["woken", message.payload])
        elif isinstance(message, ChildActorExited):
            self.send(self.client, ["exited", message.childAddress == self.child])
        elif isinstance(message, dict):
            self.send(self.client, ["answered", message["echo"]])


class Knowing(Actor):
    """Asks for what Thespian offers to an actor's `__init__`."""

    def __init__(self, capabilities: Any) -> None:
        super().__init__()
        self._known = capabilities.get("no such capability", "no")

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if message == "what?":
            self.send(sender, self._known)


class Letters(Actor):
    """Handles dead letters."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: set[str] = set()

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        if message == "handle":
            self.client = sender
            self.handleDeadLetters()
            self.send(sender, "handling")
        elif message == "stop handling":
            self.handleDeadLetters(False)
            self.send(sender, "not handling")
        elif message == "process":
            self.send(sender, ["process", os.getpid()])
        elif message == "texts":
            self.send(sender, ["texts", sorted(self._texts)])
        elif isinstance(message, DeadEnvelope):
            if isinstance(message.deadMessage, dict):
                self._texts.add(message.deadMessage["text"])
            self.send(self.client, ["dead", message.deadMessage])
