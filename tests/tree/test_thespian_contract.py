"""One small suite of plain Thespian actors on Thespian's own bases and on ours."""

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from thespian.actors import ActorExitRequest, ActorSystem

from supervision.system_base import NativeBase
from tests.support.thespian_actors import Echo, Knowing, Letter, Letters, Parent

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


def _until(system: Any, expected: Any) -> None:
    got = []
    for _ in range(5):
        got.append(system.listen(3))
        if got[-1] == expected:
            return
    pytest.fail(f"{expected} did not come, but {got}")


def test_create_and_ask(system: Any) -> None:
    echo = system.createActor(Echo)
    assert system.ask(echo, {"text": "hi"}, 5) == {"echo": "hi", "pair": (1, 2)}


def test_tell_and_listen(system: Any) -> None:
    echo = system.createActor(Echo)
    system.tell(echo, {"text": "hi"})
    assert system.listen(5)["echo"] == "hi"


def test_an_answer_that_does_not_come_is_none(system: Any) -> None:
    echo = system.createActor(Echo)
    assert system.ask(echo, "no dictionary", 0.3) is None


def test_a_child_is_created_and_answers_its_parent(system: Any) -> None:
    parent = system.createActor(Parent)
    assert system.ask(parent, "create", 5) == ["answered", "from parent"]


def test_an_address_can_be_sent_and_used(system: Any) -> None:
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    child = system.ask(parent, "child address", 5)
    assert system.ask(child, {"text": "direct"}, 5)["echo"] == "direct"


def test_an_object_of_a_class_of_its_own_is_sent(system: Any) -> None:
    echo = system.createActor(Echo)
    answer = system.ask(echo, Letter("hi", echo), 5)
    assert (type(answer), answer.text, answer.reply_to) == (Letter, "answer to hi", echo)


def test_an_actor_gets_the_capabilities_that_its_init_names(system: Any) -> None:
    assert system.ask(system.createActor(Knowing), "what?", 5) == "no"


def test_a_letter_goes_to_who_handles_them_now_and_to_nobody_who_no_longer_does(system: Any) -> None:
    first, second, gone = (system.createActor(Letters) for _ in range(3))
    system.tell(gone, ActorExitRequest())
    for handler, text in ((first, "one"), (second, "two")):
        assert system.ask(handler, "handle", 5) == "handling"
        system.tell(gone, {"text": text})
        _until(system, ["dead", {"text": text}])
        assert system.ask(handler, "count", 5) == 1
    assert system.ask(second, "stop handling", 5) == "not handling"
    system.tell(gone, {"text": "three"})
    assert [system.ask(handler, "count", 5) for handler in (first, second)] == [1, 1]


def test_wakeup_after(system: Any) -> None:
    parent = system.createActor(Parent)
    assert system.ask(parent, "wake", 5) == ["woken", "soon"]


def test_the_exit_of_a_child_is_told_to_its_parent(system: Any) -> None:
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    assert system.ask(parent, "end child", 5) == ["exited", True]


def test_what_is_sent_to_an_actor_that_has_exited_is_a_dead_letter(system: Any) -> None:
    letters = system.createActor(Letters)
    assert system.ask(letters, "handle", 5) == "handling"
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    child = system.ask(parent, "child address", 5)
    assert system.ask(parent, "end child", 5) == ["exited", True]
    system.tell(child, {"text": "too late"})
    _until(system, ["dead", {"text": "too late"}])


def test_a_global_name_means_one_actor(system: Any) -> None:
    first = system.createActor(Echo, globalName="the-echo")
    assert system.ask(first, {"text": "here"}, 5)["echo"] == "here"
    second = system.createActor("is.not.looked.at", globalName="the-echo")
    assert first == second
    assert system.ask(second, {"text": "one"}, 5)["echo"] == "one"


def test_an_exit_request_from_outside_ends_an_actor(system: Any) -> None:
    echo = system.createActor(Echo)
    assert system.ask(echo, {"text": "hi"}, 5)["echo"] == "hi"
    system.tell(echo, ActorExitRequest())
    assert system.ask(echo, {"text": "hi"}, 1) is None


def test_an_actor_in_a_module_that_is_not_there_cannot_be_created(system: Any) -> None:
    with pytest.raises(ImportError):
        system.createActor("no.such.module.Actor")


def test_who_no_longer_handles_dead_letters_takes_them_from_nobody_else(system: Any) -> None:
    first, second = system.createActor(Letters), system.createActor(Letters)
    assert system.ask(first, "handle", 5) == "handling"
    assert system.ask(second, "handle", 5) == "handling"
    assert system.ask(first, "stop handling", 5) == "not handling"
    parent = system.createActor(Parent)
    system.ask(parent, "create", 5)
    child = system.ask(parent, "child address", 5)
    assert system.ask(parent, "end child", 5) == ["exited", True]
    system.tell(child, {"text": "too late"})
    _until(system, ["dead", {"text": "too late"}])
