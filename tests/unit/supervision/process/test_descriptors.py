"""A process that can open nothing more ends; one that lacks descriptors for a moment does not."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from supervision.process.descriptors import NEEDED, PATIENCE_SECONDS, Descriptors


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The error of each attempt to open something, if there is one in the list."""
    numbers: list[int] = []
    opened = os.open

    def attempt(*arguments: Any) -> int:
        if numbers:
            raise OSError(numbers[0], os.strerror(numbers[0]))
        return opened(*arguments)

    monkeypatch.setattr(os, "open", attempt)
    return numbers


def test_a_process_without_descriptors_ends_when_none_was_free_for_long(refusal: list[int]) -> None:
    found = Descriptors()
    refusal.append(errno.EMFILE)
    assert found.exhausted(100.0) is None
    assert found.exhausted(100.0 + 0.9 * PATIENCE_SECONDS) is None
    error = found.exhausted(100.0 + 100 * PATIENCE_SECONDS)
    assert error is not None
    assert "fewer than 8 file descriptors have been free for 1000 s: " in str(error)
    assert " are open, the limit is " in str(error)


def test_a_process_that_opened_a_descriptor_meanwhile_continues(refusal: list[int]) -> None:
    found = Descriptors()
    refusal.append(errno.EMFILE)
    assert found.exhausted(100.0) is None
    refusal.clear()
    assert found.exhausted(105.0) is None
    refusal.append(errno.EMFILE)
    assert found.exhausted(100.0 + 100 * PATIENCE_SECONDS) is None


def test_a_lack_of_descriptors_in_the_whole_system_ends_no_actor(refusal: list[int]) -> None:
    found = Descriptors()
    refusal.append(errno.ENFILE)
    assert found.exhausted(100.0) is None
    assert found.exhausted(100.0 + 100 * PATIENCE_SECONDS) is None


def test_a_process_with_few_descriptors_left_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What opens a directory in a directory would fail in it for ever."""
    duplicated = os.dup
    left = [0]

    def attempt(number: int) -> int:
        if not left[0]:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        left[0] -= 1
        return duplicated(number)

    monkeypatch.setattr(os, "dup", attempt)
    found = Descriptors()
    before = len(os.listdir("/proc/self/fd"))
    for now in (100.0, 100.0 + 100 * PATIENCE_SECONDS):
        left[0] = NEEDED - 2
        error = found.exhausted(now)
    assert error is not None
    assert len(os.listdir("/proc/self/fd")) == before
    left[0] = NEEDED
    assert found.exhausted(5000.0) is None
