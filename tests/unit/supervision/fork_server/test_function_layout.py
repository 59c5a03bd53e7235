"""Functions are replaced by copies where nobody can tell; the others stay."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from supervision.fork_server import memory_switches
from supervision.fork_server.function_layout import bring_functions_together

SOURCE = '''
from enum import IntFlag
from functools import wraps

def plain(a: int, b: str = "b", *, c: float = 1.0) -> str:
    """Its text."""
    return f"{a}{b}{c}"

plain.mark = "marked"

def renamed() -> None: ...

renamed.__doc__, renamed.__qualname__, renamed.__module__ = "another", "other.renamed", "elsewhere"

class Base:
    def __init__(self) -> None:
        self.value = 1

class Child(Base):
    def __init__(self) -> None:
        super().__init__()
        self.value += 1

    def __len__(self) -> int:
        return self.value

    @property
    def twice(self) -> int:
        """Twice the value."""
        return 2 * self.value

    @twice.setter
    def twice(self, value: int) -> None:
        self.value = value // 2

class Flag(IntFlag):
    ONE = 1

    def shown(self) -> str:
        return self.name or ""

def kept() -> int:
    return 3

TABLE = {"kept": kept}

def observed() -> int:
    return 4
'''
MODULE, OTHER = "sample_of_function_layout", "importer_of_function_layout"


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module, and one that has imported a function of it."""
    module, other = ModuleType(MODULE), ModuleType(OTHER)
    for one in (module, other):
        monkeypatch.setitem(sys.modules, one.__name__, one)
    exec(SOURCE, vars(module))
    exec(f"from {MODULE} import plain as imported", vars(other))
    return module


def identity(function: object) -> int:
    """Without a reference that would keep it from being replaced."""
    return id(function)


def bring(*names: str) -> None:
    bring_functions_together(f"{MODULE} {name}" for name in names)


def test_a_function_is_replaced_wherever_a_module_has_it_and_is_the_same_in_all(sample: Any) -> None:
    before = identity(sample.plain)
    bring("plain", "renamed", "renamed")
    assert identity(sample.plain) != before
    assert sys.modules[OTHER].imported is sample.plain
    assert [sample.plain(1), sample.plain(1, "x", c=2)] == ["1b1.0", "1x2"]
    assert sample.plain.__annotations__ == {"a": "int", "b": "str", "c": "float", "return": "str"}
    assert [sample.plain.__doc__, sample.plain.mark, sample.plain.__module__] == ["Its text.", "marked", MODULE]
    renamed = sample.renamed
    assert [renamed.__doc__, renamed.__qualname__, renamed.__module__] == ["another", "other.renamed", "elsewhere"]


def test_methods_and_properties_are_replaced_and_instances_made_before_have_the_new_ones(sample: Any) -> None:
    child = sample.Child()
    before = {name: identity(vars(sample.Child)[name]) for name in ("__init__", "__len__", "twice")}
    bring("Child.__init__", "Child.__len__", "Child.twice", "Base.__init__", "Flag.shown")
    assert all(identity(vars(sample.Child)[name]) != there for name, there in before.items())
    child.twice = 6
    assert [len(child), child.twice, len(sample.Child()), sample.Flag.ONE.shown()] == [3, 6, 2, "ONE"]
    assert sample.Child.twice.__doc__ == "Twice the value."


def test_a_function_that_something_else_refers_to_stays(sample: Any) -> None:
    reference = weakref.ref(sample.observed)
    bound: Callable[[], int] = sample.Child().__len__
    getter = sample.Child.twice
    before = {name: identity(getattr(sample, name)) for name in ("kept", "observed")}
    bring("kept", "observed", "Child.__len__", "Child.twice", "gone", "Gone.method", "plain.inner")
    assert {name: identity(getattr(sample, name)) for name in before} == before
    assert reference() is sample.observed
    assert bound.__func__ is sample.Child.__len__  # type: ignore[attr-defined]
    assert sample.Child.twice is getter


def test_nothing_is_replaced_when_it_is_switched_off(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory_switches.VARIABLE, "function_layout")
    before = identity(sample.plain)
    bring("plain")
    assert identity(sample.plain) == before
