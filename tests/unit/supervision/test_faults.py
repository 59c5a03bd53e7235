import asyncio
import contextlib
import time
from typing import get_args

import pytest

from supervision.addresses import ActorName
from supervision.faults import EXPLAINED, Faults, InjectedFault, check
from supervision.message import Message
from supervision.process_messages import Exited, Hello
from supervision.protocol import Fault, Inject


class Ping(Message, frozen=True):
    number: int = 0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        (Inject(name="a", fault="crash"), ""),
        (Inject(name="a", fault="hang", seconds=5), ""),
        (Inject(name="a", fault="drop", rate=0.3, seconds=5), ""),
        (Inject(name="a", fault="crash", seconds=5), "seconds: crash does not last"),
        (Inject(name="a", fault="hang", rate=5), "rate: hang has none"),
        (Inject(name="a", fault="drop", rate=30), "rate: 30 is not a share, 0 to 1"),
        (Inject(name="a", fault="leak", rate=-1), "rate: -1 is negative"),
        (Inject(name="a", fault="hang", seconds=-1), "seconds: -1 is negative"),
        (Inject(name="a", fault="stop", seconds=float("nan")), "seconds: nan is not a time up to 86400"),
        (Inject(name="a", fault="stop", seconds=float("inf")), "seconds: inf is not a time up to 86400"),
        (Inject(name="a", fault="slow", rate=float("inf")), "rate: inf is not a number up to 1e+06"),
        (Inject(name="a", fault="exit", status=0), ""),
        (Inject(name="a", fault="crash", status=3), "status: crash has none"),
        (Inject(name="a", fault="exit", status=300), "status: 300 is not an exit code, 0 to 255"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_with_the_reason(order: Inject, wrong: str) -> None:
    assert check(order) == wrong


def test_an_exception_is_raised_by_the_next_handler() -> None:
    faults = Faults()
    later = faults.order(Inject(name="a", fault="exception"))
    with pytest.raises(InjectedFault):
        faults.intercept(Ping())
    assert later is not None
    later.close()


async def test_an_exception_is_raised_by_itself_when_no_message_comes() -> None:
    later = Faults().order(Inject(name="a", fault="exception"))
    assert later is not None
    with pytest.raises(InjectedFault):
        await asyncio.wait_for(later, 5)


def test_a_share_of_messages_is_lost_for_as_long_as_ordered() -> None:
    clock, numbers = Clock(), iter([0.1, 0.2, 0.3, 0.9] + [0.0] * 10)
    faults = Faults(clock, lambda: next(numbers))
    faults.order(Inject(name="a", fault="drop", rate=0.25, seconds=10))
    assert [faults.intercept(Ping(n)) for n in range(4)] == [False, False, True, True]
    clock.now = 10
    assert faults.intercept(Ping())


def test_exits_of_children_are_never_dropped() -> None:
    faults = Faults(rng=lambda: 0.0)
    faults.order(Inject(name="a", fault="drop", rate=1))
    assert faults.intercept(Exited("b", 1, 2, 9, "signal"))
    assert not faults.intercept(Ping())


def test_a_hello_is_never_dropped() -> None:
    faults = Faults(rng=lambda: 0.0)
    faults.order(Inject(name="a", fault="drop", rate=1))
    assert faults.intercept(Hello(ActorName("b"), 2))


def test_slow_delays_each_handler() -> None:
    faults = Faults()
    faults.order(Inject(name="a", fault="slow", rate=0.05))
    started_at = time.monotonic()
    assert faults.intercept(Ping())
    assert time.monotonic() - started_at >= 0.05


def test_a_hang_with_a_duration_ends() -> None:
    started_at = time.monotonic()
    assert Faults().order(Inject(name="a", fault="hang", seconds=0.05)) is None
    assert time.monotonic() - started_at >= 0.05


async def test_a_leak_grows_by_its_rate_and_stays() -> None:
    faults = Faults()
    later = faults.order(Inject(name="a", fault="leak", rate=20, seconds=0.3))
    assert later is not None
    with contextlib.closing(later):
        await asyncio.wait_for(later, 5)
    leaked = sum(len(part) for part in faults._leaked)
    assert leaked == 6 * 1024 * 1024


def test_every_fault_is_explained():
    assert set(EXPLAINED) == set(get_args(Fault))
