"""What is left of a process in its black box."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from supervision.process.blackbox import _LIMIT, BlackBox


@pytest.fixture
def box() -> Iterator[BlackBox]:
    box = BlackBox("pleg")
    yield box
    box.close()


def _raised(text: str) -> ValueError:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def test_a_signal_writes_the_stacks_of_all_threads_and_the_process_goes_on(box: BlackBox) -> None:
    over = threading.Event()

    def wait_in_a_thread() -> None:
        over.wait()

    thread = threading.Thread(target=wait_in_a_thread)
    thread.start()
    box.arm()
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        faulthandler.unregister(signal.SIGUSR1)
        over.set()
        thread.join()
    stacks = box.stacks()
    assert box.exception() == ("", "")
    assert "Current thread" in stacks
    assert "in wait_in_a_thread" in stacks
    assert "in test_a_signal_writes_the_stacks" in stacks


def test_an_exception_replaces_what_was_written_before(box: BlackBox) -> None:
    os.write(box.fd, b"stacks of an earlier signal\n" * 1000)
    box.record("m.T", _raised("short"))
    message, text = box.exception()
    assert (message, text.splitlines()[-1]) == ("m.T", "ValueError: short")
    assert "earlier signal" not in text


def test_of_a_long_traceback_the_end_is_kept(box: BlackBox) -> None:
    box.record("m.T", _raised("x" * 3 * _LIMIT + "the end"))
    message, text = box.exception()
    assert message == "m.T"
    assert len(text) == _LIMIT
    assert text.endswith("x" * 100 + "the end\n")


def test_the_stacks_of_a_hang_are_not_those_of_an_earlier_signal(box: BlackBox) -> None:
    os.write(box.fd, b"stacks of an earlier signal\n" * 10_000)
    box.expect_stacks()
    os.write(box.fd, b"stacks of the hang")
    assert box.stacks() == "stacks of the hang"


def test_stacks_after_an_exception_leave_it(box: BlackBox) -> None:
    box.record("m.T", _raised("short"))
    box.expect_stacks()
    os.write(box.fd, b"stacks of the hang")
    message, text = box.exception()
    assert (message, "ValueError: short" in text) == ("m.T", True)
    assert box.stacks().endswith("stacks of the hang")


def test_a_label_with_the_name_of_a_file_that_is_not_utf8_is_recorded(box: BlackBox) -> None:
    box.record(os.fsdecode(b"register /p/\xff.sock"), _raised("x"))
    assert box.exception()[0] == "register /p/?.sock"
