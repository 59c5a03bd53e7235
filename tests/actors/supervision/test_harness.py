import asyncio

import pytest

from supervision.actor import Actor, Address, AskError, DisposableError, on
from supervision.addresses import ActorName
from supervision.message import Message, Question
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock


class Say(Question["Said"], frozen=True):
    text: str


class Said(Message, frozen=True):
    text: str


class Fail(Message, frozen=True):
    where: str


class Tick(Message, frozen=True):
    at: float


class Sample(Actor):
    def __init__(self, greeting: str = "") -> None:
        super().__init__()
        self.greeting = greeting

    async def on_start(self) -> None:
        if self.greeting:
            self.greeting = (await self.ask(ActorName("other"), Say("name?"), timeout=3)).text

    @on(Say)
    def on_say(self, message: Say, sender: Address) -> Said:
        self.tell(ActorName("listener"), Said(message.text))
        return Said(f"{self.greeting}{message.text}")

    @on(Fail)
    async def on_fail(self, message: Fail, sender: Address) -> None:
        if message.where == "task":
            self.start_task(self.boom())
        elif message.where == "timer":
            self.after(1, self.boom)
        elif message.where == "library":
            self.start_task(self.cancelled(), "call")
        elif message.where == "disposable":
            await self.disposable("os:listdir", {"path": 7.5}, deadline=1)
        else:
            await self.boom()

    async def boom(self) -> None:
        raise ZeroDivisionError("boom")

    async def cancelled(self) -> None:
        """As a call whose channel is closed."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer.cancel()
        await answer


class Ticker(Actor):
    async def on_start(self) -> None:
        self.slow = asyncio.Event()
        self.runs = 0
        self.timer = self.every(2, lambda: self.tell(ActorName("listener"), Tick(self.context())), immediately=True)
        self.every(1, self.once_at_a_time)

    async def once_at_a_time(self) -> None:
        self.runs += 1
        await self.slow.wait()


async def test_deliver_returns_the_answer_and_records_messages_to_others() -> None:
    async with Harness(Sample, name="s") as harness:
        assert await harness.deliver(Say("hi")) == Said("hi")
        assert harness.outbox == [("listener", Said("hi"))]
        assert await harness.wait_sent(Said, to="listener") == Said("hi")


async def test_telling_a_question_is_refused() -> None:
    async with Harness(Sample, name="s") as harness:
        question: Message = Say("hi")
        with pytest.raises(TypeError, match="Say is a question: it is asked, not told"):
            harness.actor.tell(ActorName("listener"), question)
        assert harness.outbox == []


async def test_on_start_gets_the_answers_prepared_before_it() -> None:
    harness = Harness(Sample, arguments={"greeting": "?"})
    harness.answer(Say, lambda question: Said("Bob "))
    async with harness:
        assert await harness.deliver(Say("hi")) == Said("Bob hi")
        assert harness.asks == [("other", Say("name?"))]


async def test_an_ask_without_answer_fails_when_its_time_has_passed() -> None:
    harness = Harness(Sample, arguments={"greeting": "?"})
    start = asyncio.create_task(harness.actor.on_start())
    await harness.advance(2.9)
    assert not start.done()
    await harness.advance(0.2)
    with pytest.raises(AskError, match="other did not answer Say within 3 s"):
        await start


async def test_an_exception_in_a_handler_comes_out_of_deliver() -> None:
    async with Harness(Sample) as harness:
        with pytest.raises(ZeroDivisionError):
            await harness.deliver(Fail("handler"))


async def test_an_exception_in_a_task_or_timer_reaches_the_test() -> None:
    with pytest.raises(ZeroDivisionError):
        async with Harness(Sample) as harness:
            await harness.deliver(Fail("task"))
    async with Harness(Sample) as harness:
        await harness.deliver(Fail("timer"))
        with pytest.raises(ZeroDivisionError):
            await harness.advance(1)


async def test_an_unrequested_cancellation_of_a_task_reaches_the_test() -> None:
    with pytest.raises(RuntimeError, match="call was cancelled, and nobody had asked for that"):
        async with Harness(Sample) as harness:
            await harness.deliver(Fail("library"))


async def test_a_disposable_runs_in_process_or_as_overridden() -> None:
    async with Harness(Sample) as harness:
        with pytest.raises(DisposableError) as caught:
            await harness.deliver(Fail("disposable"))
        assert caught.value.kind == "TypeError"
        harness.disposables["os:listdir"] = lambda path: []
        assert await harness.deliver(Fail("disposable")) is None
        assert harness.disposed[-1] == ("os:listdir", {"path": 7.5})


async def test_timers_follow_the_virtual_clock_and_a_run_is_not_doubled() -> None:
    clock = VirtualClock(0)
    async with Harness(Ticker, clock=clock, context=clock) as harness:
        await harness.advance(5)
        assert [tick.at for tick in harness.sent(Tick)] == [0, 2, 4]
        actor = harness.actor
        assert isinstance(actor, Ticker)
        assert actor.runs == 1
        actor.slow.set()
        actor.timer.cancel()
        await harness.advance(2)
        assert actor.runs == 3
        assert len(harness.sent(Tick)) == 3


class Served(Actor):
    stopped = False

    async def on_stop(self) -> None:
        self.stopped = True


async def test_the_actor_of_a_test_that_fails_is_stopped() -> None:
    harness = Harness(Served, name="served")
    with pytest.raises(ValueError, match="of the test"):
        async with harness:
            raise ValueError("of the test")
    assert harness.actor.stopped
