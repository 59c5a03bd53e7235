"""A look at files that hangs, fails or takes long costs a command its seconds, and no more."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from supervision.hanging_disks import Asker, Hangs, in_time, require_answer


def test_the_value_of_a_look_is_its_answer():
    assert in_time(lambda: ["a" * 300_000, "b"], list[str]) == ["a" * 300_000, "b"]


def test_a_look_that_hangs_is_given_up():
    read, write = os.pipe()
    try:
        with pytest.raises(Hangs):
            in_time(lambda: os.read(read, 1), bytes, seconds=0.05)
    finally:
        os.close(read)
        os.close(write)


def test_a_look_that_cannot_be_ended_keeps_no_stream_of_the_command_open():
    streams = in_time(lambda: [os.readlink(f"/proc/self/fd/{stream}") for stream in (0, 1, 2)], list[str])
    assert streams == [os.devnull] * 3


def test_a_look_that_ends_without_an_answer_is_an_error():
    with pytest.raises(ChildProcessError):
        in_time(lambda: os.kill(os.getpid(), signal.SIGKILL), type(None))


def children() -> list[str]:
    return Path("/proc/thread-self/children").read_text().split()


def test_one_process_answers_all_questions_and_ends_with_the_last(tmp_path, monkeypatch):
    fork, before, made = os.fork, children(), iter(range(9))
    monkeypatch.setattr(os, "fork", lambda: fork() if next(made) < 9 else 0)
    with Asker() as asker:
        for _ in range(3):
            asker.require_answer(tmp_path)
            asker.require_answer(tmp_path / "missing" / "lock", writes=True)
        asker.close()
        assert children() == before
        asker.require_answer(tmp_path)
    assert (next(made), children()) == (2, before)


def test_a_question_without_a_process_to_ask_it_is_no_hanging_disk(tmp_path, monkeypatch):
    def none() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", none)
    require_answer(tmp_path, writes=True)


def test_a_process_that_is_killed_amid_the_questions_is_replaced(tmp_path):
    before = children()
    with Asker() as asker:
        asker.require_answer(tmp_path)
        os.kill(int((set(children()) - set(before)).pop()), signal.SIGKILL)
        for _ in range(3):
            asker.require_answer(tmp_path)
    assert children() == before
