"""What is done once in the fork server so that the actors share more memory: it must leave no trace but that."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

import pytest

from supervision.fork_server import code_layout, memory_switches, name_layout, warmup
from supervision.message import known_types
from supervision.messaging.inbox import Inbox
from supervision.messaging.names import Names
from supervision.messaging.wire import _decoders
from supervision.process.status_page import StatusPage
from tests.support.traces import left_by


@pytest.fixture
def names(tmp_path: Path) -> Names:
    return Names(tmp_path / "names")


def test_a_warm_up_leaves_no_open_file_and_no_listener(tmp_path: Path) -> None:
    status_page = f"""
        from pathlib import Path
        from supervision.process.status_page import StatusPage
        from supervision.messaging.names import Names
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


def plain() -> tuple[int, str]:
    """Stands for itself."""
    return 1, "a text with spaces"


@contextmanager
def decorated() -> Iterator[int]:
    yield 2


def left_alone() -> int:
    return 3


class Having:
    @property
    def value(self) -> int:
        return 4

    @staticmethod
    def static() -> list[int]:
        return [number for number in (5, 6)]  # noqa: C416 - a function within the function


def code_of(*names: str) -> dict[str, CodeType]:
    """By qualified name of a function of this module."""
    found = {name: code_layout._function(f"{__name__} {name}") for name in names}
    return {name: function.__code__ for name, function in found.items() if function is not None}


def test_the_code_of_listed_functions_is_copied_in_the_order_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    copy = code_layout._copy

    def copy_seen(code: CodeType) -> CodeType:
        copied.append(code.co_qualname)
        return copy(code)

    monkeypatch.setattr(code_layout, "_copy", copy_seen)
    names = ["decorated", "plain", "Having.static", "Having.value"]
    before = code_of(*names, "left_alone")
    listed = [*(f"{__name__} {name}" for name in names), f"{__name__} plain", f"{__name__} gone", "no.module f", "odd"]
    code_layout.bring_together(listed)
    after = code_of(*names, "left_alone")
    assert [name for name in copied if "<" not in name] == names
    assert {name for name in after if after[name] is before[name]} == {"left_alone"}
    with decorated() as two:
        assert [plain(), two, Having().value, Having.static()] == [(1, "a text with spaces"), 2, 4, [5, 6]]
    assert plain.__doc__ == "Stands for itself."


def test_names_that_are_brought_together_are_those_that_code_uses_later(monkeypatch: pytest.MonkeyPatch) -> None:
    interned: list[str] = []
    monkeypatch.setattr(name_layout, "_interned", interned)
    name_layout.bring_names_together(["attribute_of_nobody_else", "key_of_nobody_else"])
    module: dict[str, Any] = {}
    exec("def function(it): return it.attribute_of_nobody_else, 'key_of_nobody_else'", module)
    code = module["function"].__code__
    assert code.co_names[0] is interned[0]
    assert interned[1] in code.co_consts
    assert next(one for one in code.co_consts if one == interned[1]) is interned[1]


def test_after_a_warm_up_every_message_type_can_be_read_at_once(names: Names) -> None:
    warmup.warm_up(names, StatusPage(1))
    assert set(known_types()) <= set(_decoders)


def test_a_failed_warm_up_prevents_no_start(names: Names, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(names.path)
    with caplog.at_level(logging.WARNING, "fork_server"):
        warmup.warm_up(names, StatusPage(1))
    assert "no prefork warm-up" in caplog.text


@pytest.mark.parametrize("size", [48, 160, 512])
def test_objects_made_after_the_heap_fill_lie_on_new_pages(size: int) -> None:
    # in a new interpreter: that of all tests may have more free slots than are ever filled
    program = f"""
        from supervision.fork_server import heap_fill
        mappings = heap_fill._AnonymousMappings()
        kept = heap_fill.fill_slots()
        made = [bytes({size} - 33) for _ in range(1000)]
        print(len(kept), sum(mappings.contain(id(one)) for one in made))
        """
    kept, amid = map(int, _output_of(dedent(program)).split())
    assert kept
    assert amid < 100  # what filling itself used for a moment is free again


def test_a_measure_that_is_switched_off_is_not_taken(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory_switches.VARIABLE, "code_layout, heap_fil")
    before = Inbox.put.__code__
    warmup.warm_up(names, StatusPage(1))
    assert Inbox.put.__code__ is before
    assert memory_switches.is_on("heap_fill")
    assert memory_switches.unknown() == ["heap_fil"]
    monkeypatch.setenv(memory_switches.VARIABLE, "all")
    kept = list(name_layout._interned)
    name_layout.bring_names_together(["name_of_nobody"])
    assert name_layout._interned == kept
    assert not any(memory_switches.is_on(measure) for measure in memory_switches.MEASURES)


def test_every_memory_measure_has_a_switch_that_a_module_reads() -> None:
    source = "".join(path.read_text() for path in Path(warmup.__file__).parent.glob("*.py"))
    assert all(f'is_on("{measure}")' in source for measure in memory_switches.MEASURES)


def test_memory_allocated_after_the_heap_fill_lies_behind_it() -> None:
    if not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        pytest.skip("not glibc")
    freed = """
        import ctypes
        from supervision.fork_server import heap_fill
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
        chunks = [libc.malloc(size) for size in range(600, 3000, 8)]
        for chunk in chunks[::2]:
            libc.free(chunk)
        """
    allocate = "print(sum(libc.malloc(size) < chunks[-1] for size in range(600, 3000, 16)))"
    amid = [int(_output_of(f"{dedent(freed)}\n{more}{allocate}")) for more in ("", "heap_fill.fill_chunks(); ")]
    assert amid[0] > 100
    assert amid[1] == 0


def _output_of(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout
