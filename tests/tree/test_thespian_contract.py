"""One small suite of plain Thespian actors on Thespian's own bases and on ours."""

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import psutil
import pytest
from thespian.actors import ActorExitRequest, ActorSystem, ActorSystemFailure

from supervision.system_base import NativeBase
from tests.support.thespian_actors import Echo, Knowing, Letter, Letters, Parent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tree


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture(params=["simpleSystemBase", "multiprocTCPBase", "ours"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("THESPLOG_FILE", os.devnull)  # else Thespian leaves a log in the machine's temporary directory
    capabilities = {}
    base: Any = request.param
    if base == "ours":
        base = NativeBase()
    elif base == "multiprocTCPBase":
        # a fork of this process would inherit the locks of the threads that other tests have started here
        capabilities = {
            "Admin Port": _free_port(),
            "Convention Address.IPv4": None,
            "Process Startup Method": "spawn",
        }
    system = ActorSystem(base, capabilities, transientUnique=True)
    try:
        yield system
    finally:
        system.shutdown()


def _end(system: Any, actor: Any) -> None:
    """Have an actor exit, and wait until it has: what its process takes in while it ends is lost, not a dead letter."""
    pid = _value(system, actor, "process")
    system.tell(actor, ActorExitRequest())
    _wait_for_the_end_of(pid)


def _wait_for_the_end_of(pid: int) -> None:
    if pid == os.getpid():
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)


def _comes(system: Any, expected: Any, seconds: float) -> bool:
    """Whether a message comes, among others: Thespian's own transport may say one twice when the machine is busy."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if system.listen(left) == expected:
            return True
    return False


def _tell(system: Any, gone: Any, letter: Any) -> None:
    with contextlib.suppress(ActorSystemFailure):  # Thespian's own base says now and then that the target is dead
        system.tell(gone, letter)


def _send_until_dead(system: Any, gone: Any, text: str) -> None:
    """Send letters until one comes to who handles dead letters. That an actor wants to is not acknowledged: its answer
    to us may arrive before its word to the system, and what is sent between the two is lost."""
    for attempt in range(3):
        letter = {"text": text, "attempt": attempt}
        _tell(system, gone, letter)
        if _comes(system, ["dead", letter], 5):
            return
    pytest.fail(f"{text} did not come")


def _send_until_lost(system: Any, gone: Any, text: str) -> None:
    """Send letters until one comes to nobody."""
    for attempt in range(5):
        letter = {"text": text, "attempt": attempt}
        _tell(system, gone, letter)
        if not _comes(system, ["dead", letter], 1):
            return
    pytest.fail(f"{text} came each time")


def _answers(system: Any, actor: Any, message: Any, expected: Any) -> bool:
    system.tell(actor, message)
    return _comes(system, expected, 5)


def _value(system: Any, actor: Any, name: str) -> Any:
    """What an actor answers to a name: the name and a value."""
    system.tell(actor, name)
    deadline = time.monotonic() + 5
    while (left := deadline - time.monotonic()) > 0:
        match system.listen(left):
            case [answered, value] if answered == name:
                return value
    pytest.fail(f"no {name}")


def _texts(system: Any, handler: Any) -> list[str]:
    """The texts of the dead letters that came to a handler, each once, in order of the alphabet."""
    return cast(list[str], _value(system, handler, "texts"))


def test_create_and_ask(system: Any) -> None:
    echo = system.createActor(Echo)
    assert _answers(system, echo, {"text": "hi"}, {"echo": "hi", "pair": (1, 2)})


def test_tell_and_listen(system: Any) -> None:
    echo = system.createActor(Echo)
    system.tell(echo, {"text": "hi"})
    assert system.listen(5)["echo"] == "hi"


def test_an_answer_that_does_not_come_is_none(system: Any) -> None:
    echo = system.createActor(Echo)
    assert system.ask(echo, "no dictionary", 0.3) is None


def test_a_child_is_created_and_answers_its_parent(system: Any) -> None:
    parent = system.createActor(Parent)
    assert _answers(system, parent, "create", ["answered", "from parent"])


def test_an_address_can_be_sent_and_used(system: Any) -> None:
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    child = _value(system, parent, "child address")
    assert _answers(system, child, {"text": "direct"}, {"echo": "direct", "pair": (1, 2)})


def test_an_object_of_a_class_of_its_own_is_sent(system: Any) -> None:
    echo = system.createActor(Echo)
    answer = system.ask(echo, Letter("hi", echo), 5)
    assert (type(answer), answer.text, answer.reply_to) == (Letter, "answer to hi", echo)


def test_an_actor_gets_the_capabilities_that_its_init_names(system: Any) -> None:
    assert system.ask(system.createActor(Knowing), "what?", 5) == "no"


def test_a_dead_letter_goes_to_the_current_handlers_only(system: Any) -> None:
    first, second, gone = (system.createActor(Letters) for _ in range(3))
    _end(system, gone)
    assert _answers(system, first, "handle", "handling")
    _send_until_dead(system, gone, "one")
    assert _answers(system, second, "handle", "handling")
    _send_until_dead(system, gone, "two")
    assert "two" in _texts(system, second)
    assert "one" not in _texts(system, second)
    assert _answers(system, second, "stop handling", "not handling")
    _send_until_lost(system, gone, "three")
    _tell(system, gone, {"text": "four"})
    assert not _comes(system, ["dead", {"text": "four"}], 1)
    assert "four" not in _texts(system, first) + _texts(system, second)


def test_wakeup_after(system: Any) -> None:
    parent = system.createActor(Parent)
    assert _answers(system, parent, "wake", ["woken", "soon"])
    assert _answers(system, parent, "wake after seconds", ["woken", "in seconds"])


def test_a_parent_gets_the_exit_of_its_child(system: Any) -> None:
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    assert _answers(system, parent, "end child", ["exited", True])


def test_a_message_to_an_exited_actor_is_a_dead_letter(system: Any) -> None:
    letters = system.createActor(Letters)
    assert _answers(system, letters, "handle", "handling")
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    child = _value(system, parent, "child address")
    process = _value(system, child, "process")
    assert _answers(system, parent, "end child", ["exited", True])
    _wait_for_the_end_of(process)
    _send_until_dead(system, child, "too late")


def test_a_global_name_means_one_actor(system: Any) -> None:
    first = system.createActor(Echo, globalName="the-echo")
    assert _answers(system, first, {"text": "here"}, {"echo": "here", "pair": (1, 2)})
    second = system.createActor("is.not.looked.at", globalName="the-echo")
    assert first == second
    assert _answers(system, second, {"text": "one"}, {"echo": "one", "pair": (1, 2)})


def test_an_exit_request_from_outside_ends_an_actor(system: Any) -> None:
    echo = system.createActor(Echo)
    assert _answers(system, echo, {"text": "hi"}, {"echo": "hi", "pair": (1, 2)})
    system.tell(echo, ActorExitRequest())
    _tell(system, echo, {"text": "too late"})
    assert not _comes(system, {"echo": "too late", "pair": (1, 2)}, 1)


def test_an_actor_in_a_missing_module_cannot_be_created(system: Any) -> None:
    with pytest.raises(ImportError):
        system.createActor("no.such.module.Actor")


def test_an_actor_that_stops_handling_dead_letters_takes_them_from_no_other(system: Any) -> None:
    first, second, gone = (system.createActor(Letters) for _ in range(3))
    _end(system, gone)
    for handler, text in ((first, "one"), (second, "two")):
        assert _answers(system, handler, "handle", "handling")
        _send_until_dead(system, gone, text)
    assert _answers(system, first, "stop handling", "not handling")
    _send_until_dead(system, gone, "three")
    assert "three" in _texts(system, second)
