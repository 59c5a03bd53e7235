"""What is done once in the fork server so that the actors share more memory: it must leave no trace but that."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest

from supervision.fork_server import heap_fill, memory_switches, warmup
from supervision.inbox import Inbox
from supervision.message import known_types
from supervision.names import Names
from supervision.status_page import StatusPage
from supervision.wire import _decoders
from tests.support.traces import left_by


@pytest.fixture
def names(tmp_path: Path) -> Names:
    return Names(tmp_path / "names")


def test_a_warm_up_leaves_nothing_open_and_nobody_listening(tmp_path: Path) -> None:
    status_page = f"""
        from pathlib import Path
        from supervision.status_page import StatusPage
        from supervision.names import Names
        from supervision.fork_server.warmup import warm_up
        names, status_page = Names(Path("{tmp_path}/names")), StatusPage(1)
    """
    # the only entry of the status page is free again: without it, taking one would fail
    assert left_by("warm_up(names, status_page); status_page.take()", after=status_page) == []
    assert os.listdir(tmp_path / "names") == []


def test_the_code_that_ran_is_the_same_code_elsewhere(names: Names) -> None:
    before = Inbox.put.__code__
    warmup.warm_up(names, StatusPage(1))
    assert Inbox.put.__code__ == before
    assert Inbox.put.__code__ is not before


def test_after_a_warm_up_every_message_type_can_be_read_at_once(names: Names) -> None:
    warmup.warm_up(names, StatusPage(1))
    assert set(known_types()) <= set(_decoders)


def test_a_warm_up_that_fails_keeps_nobody_from_starting(names: Names, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(names.path)
    with caplog.at_level(logging.WARNING, "fork_server"):
        warmup.warm_up(names, StatusPage(1))
    assert "no prefork warm-up" in caplog.text


@pytest.mark.parametrize("size", [48, 160, 512])
def test_what_is_made_after_the_heap_is_filled_lies_on_new_pages(size: int) -> None:
    pages = heap_fill._Pages()
    kept = heap_fill.fill()
    made = [bytes(size - 33) for _ in range(1000)]
    assert kept
    # what filling itself used for a moment is free again
    assert sum(pages.have(id(one)) for one in made) < len(made) / 10


def test_a_measure_that_is_switched_off_is_not_taken(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory_switches.VARIABLE, "code_layout, heap_fil")
    before = Inbox.put.__code__
    warmup.warm_up(names, StatusPage(1))
    assert Inbox.put.__code__ is before
    assert memory_switches.is_on("heap_fill")
    assert memory_switches.unknown() == ["heap_fil"]
    monkeypatch.setenv(memory_switches.VARIABLE, "all")
    assert not any(memory_switches.is_on(measure) for measure in memory_switches.MEASURES)


def test_every_measure_has_a_switch_that_some_module_asks_for() -> None:
    source = "".join(path.read_text() for path in Path(warmup.__file__).parent.glob("*.py"))
    assert all(f'is_on("{measure}")' in source for measure in memory_switches.MEASURES)
