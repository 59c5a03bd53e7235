"""The harness keeps to what the real port does: one suite on both."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from supervision.actor import Actor, Address, AskError, on
from supervision.addresses import ActorName
from supervision.message import Message, Question
from tests.support.ports import World, world

NEIGHBOUR = ActorName("neighbour")
MANY_PIECES = 4 * 1024 * 1024
"""A message of so many bytes takes many turns of the loop."""


class Do(Message, frozen=True):
    what: str


class Did(Message, frozen=True):
    what: str


class GetText(Question["Answer"], frozen=True):
    pass


class GetWrong(Question["Did"], frozen=True):
    pass


class GetEcho(Question["Answer"], frozen=True):
    text: str


class Unanswered(Question["Answer"], frozen=True):
    pass


class Answer(Message, frozen=True):
    text: str


class Subject(Actor):
    async def on_start(self) -> None:
        self.runs = 0
        self.go_on = asyncio.Event()

    @on(Do)
    async def on_do(self, message: Do, sender: Address) -> Did:
        return Did(str(await getattr(self, f"_{message.what}")(sender)))

    async def _tell(self, sender: Address) -> str:
        for number in range(3):
            self.tell(NEIGHBOUR, Answer(str(number)))
        return "told"

    async def _ask(self, sender: Address) -> str:
        return (await self.ask(NEIGHBOUR, GetText())).text

    async def _tell_much_and_ask(self, sender: Address) -> str:
        self.tell(NEIGHBOUR, Answer("x" * MANY_PIECES))
        return (await self.ask(NEIGHBOUR, GetText())).text

    async def _ask_wrong_type(self, sender: Address) -> str:
        try:
            await self.ask(NEIGHBOUR, GetWrong())
        except AskError as error:
            return str(error)
        return "no error"

    async def _ask_too_much(self, sender: Address) -> str:
        try:
            await self.ask(NEIGHBOUR, GetEcho("x" * MANY_PIECES))
        except AskError as error:
            return str(error)
        return "no error"

    async def _ask_in_vain(self, sender: Address) -> str:
        self.start_task(self._tell_of_the_error())
        return "asked"

    async def _tell_of_the_error(self) -> None:
        try:
            await self.ask(NEIGHBOUR, Unanswered(), timeout=0.05)
        except AskError:
            self.tell(NEIGHBOUR, Answer("AskError"))

    async def _answer_twice(self, sender: Address) -> str:
        self.send(sender, Answer("first"))
        self.tell(NEIGHBOUR, Answer("second"))
        return "third"

    async def _raise(self, sender: Address) -> str:
        raise ZeroDivisionError

    async def _raise_in_task(self, sender: Address) -> str:
        self.start_task(self._raise(sender))
        return "begun"

    async def _raise_in_timer(self, sender: Address) -> str:
        self.after(0.01, lambda: 1 // 0)
        return "begun"

    async def _every(self, sender: Address) -> str:
        self.timer = self.every(0.02, self._run)
        return "begun"

    async def _run(self) -> None:
        self.runs += 1
        self.tell(NEIGHBOUR, Answer(f"run {self.runs}"))
        await self.go_on.wait()

    async def _cancelled(self, sender: Address) -> str:
        self.after(0.01, lambda: self.tell(NEIGHBOUR, Answer("too late"))).cancel()
        return "begun"


@pytest.fixture(params=["harness", "real"])
def worlds(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[World]]:
    def make() -> AbstractAsyncContextManager[World]:
        return world(request.param, tmp_path, Subject(), {GetText: Answer("yes"), GetWrong: Answer("yes")})

    return make


async def test_the_return_value_of_a_handler_is_the_answer_and_its_messages_arrive_in_order(worlds) -> None:
    async with worlds() as w:
        assert await w.deliver(Do("tell")) == Did("told")
        assert await w.received(3) == [Answer("0"), Answer("1"), Answer("2")]


async def test_a_question_does_not_overtake_earlier_messages(worlds) -> None:
    async with worlds() as w:
        assert await w.deliver(Do("tell_much_and_ask")) == Did("yes")
        assert [len(message.text) for message in await w.received(0)] == [MANY_PIECES]


async def test_a_question_is_answered_or_the_wrong_type_refused(worlds) -> None:
    async with worlds() as w:
        assert await w.deliver(Do("ask")) == Did("yes")
        refused = await w.deliver(Do("ask_wrong_type"))
        assert refused == Did("neighbour answered GetWrong with Answer")


async def test_a_question_that_is_too_large_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervision.messaging.wire.MAX_BYTES", MANY_PIECES)
    async with world("real", tmp_path, Subject(), {}) as w:
        refused = await w.deliver(Do("ask_too_much"))
    assert isinstance(refused, Did)
    assert refused.what.startswith("neighbour was asked GetEcho: ")
    assert f"more than {MANY_PIECES}" in refused.what


async def test_a_question_without_answer_fails_at_its_deadline(worlds) -> None:
    async with worlds() as w:
        assert await w.deliver(Do("ask_in_vain")) == Did("asked")
        await w.pass_time(0.1)
        assert await w.received(1) == [Answer("AskError")]


async def test_the_first_message_to_the_asker_is_the_answer(worlds) -> None:
    async with worlds() as w:
        assert await w.deliver(Do("answer_twice")) == Answer("first")
        assert sorted(map(repr, await w.received(2))) == ["Answer(text='second')", "Did(what='third')"]


@pytest.mark.parametrize("how", ["raise_in_task", "raise_in_timer"])
async def test_an_exception_outside_a_handler_ends_the_actor(worlds, how: str) -> None:
    async with worlds() as w:
        await w.deliver(Do(how))
        await w.pass_time(0.05)
        assert [type(failure) for failure in w.failures] == [ZeroDivisionError]


async def test_every_continues_and_does_not_double_a_run(worlds) -> None:
    async with worlds() as w:
        await w.deliver(Do("every"))
        await w.pass_time(0.1)
        assert await w.received(1) == [Answer("run 1")]
        w.actor.go_on.set()
        await w.pass_time(0.1)
        assert len(await w.received(4)) >= 4
        w.actor.timer.cancel()
        await w.pass_time(0.05)  # for the run that was under way
        done = w.actor.runs
        await w.pass_time(0.1)
        assert w.actor.runs == done


async def test_a_cancelled_timer_does_not_fire(worlds) -> None:
    async with worlds() as w:
        await w.deliver(Do("cancelled"))
        await w.pass_time(0.05)
        assert await w.received(0) == []
