"""A look at files that hangs, fails or takes long costs a command its seconds, and no more."""

from __future__ import annotations

import os
import signal

import pytest

from supervision.hanging_disks import Hangs, in_time


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
