"""Asks several actors: shows the answers that come soon, and names the actors that do not answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from ..message import Message
from ..protocol import ActorState, Tree
from ..time_scale import scaled
from .command import NO_ANSWER, CommandError, Context
from .health import is_silent
from .signals import stopped_by_signal
from .text import duration

PATIENCE_SECONDS: Final = 3.0
"""Seconds that each question waits, unless --timeout is less: actors answer within milliseconds, but for those that
wait for others just after their start."""
STARTING: Final = "is starting"
R = TypeVar("R", bound=Message)


class Answers:
    """The answers of the actors of one agent. An actor that hangs according to the tree is not asked."""

    def __init__(self, context: Context, tree: Tree) -> None:
        self._context = context
        self.silent = silent(tree)
        """Actors that will not answer, each with the reason."""
        self._patience = min(context.arguments.timeout, scaled(PATIENCE_SECONDS))
        self.passed_over: list[str] = []
        """Why actors were not asked, as the tree shows too."""
        self.unanswered: list[str] = []
        """Actors that did not answer in time."""
        self.errors: list[CommandError] = []
        """Why these did not answer, and what to do about it."""

    @property
    def problems(self) -> list[str]:
        """The actors of both lists, with the reasons and the missing parts of the output."""
        return [*self.passed_over, *self.unanswered]

    def get(self, name: str, question: Message, reply: type[R], missing: str = "") -> R | None:
        """The answer. None if there is none; then `problems` names the actor. `missing`: the part of the output that is
        missing then.

        Raises CommandError: no agent runs, or it may not be asked.
        """
        begin = f"{missing}: " if missing else ""
        if why := self.silent.get(name):
            self.passed_over.append(f"{begin}{name} {why}")
            return None
        try:
            return self._context.ask(question, reply, name=name, timeout=self._patience)
        except CommandError as error:
            if error.code != NO_ANSWER:
                raise
            self.unanswered.append(f"{begin}{error}")
            self.errors.append(error)
            return None


def silent(tree: Tree) -> Mapping[str, str]:
    """The actors that will not answer, and why."""
    stopped = stopped_by_signal(tree.actors)
    return {actor.name: why for actor in tree.actors if (why := _why_silent(actor, actor.pid in stopped))}


def _why_silent(actor: ActorState, is_stopped: bool) -> str:
    if actor.state != "running":
        return STARTING if actor.state == "starting" else f"is {actor.state}"
    if is_stopped:
        return "is stopped by a signal"
    if is_silent(actor):
        return f"hangs, for {duration(actor.heartbeat_age)}"
    return ""
