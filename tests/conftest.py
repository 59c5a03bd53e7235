"""For all tests: coroutines run in an event loop of their own, folders are markers, what needs root says so."""

import asyncio
import gc
import inspect
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.shared.config.paths import ROOT_DIR_VARIABLE
from actors.shared.metrics import catalogue
from supervision.metrics import install
from supervision.readable_texts import readable
from tests.support.tcp_ports import ports_given_back

install(catalogue(strict=True))
MARKED_FOLDERS = ("tree", "node")
NEEDS_ROOT = pytest.mark.skip(reason="NOT TESTED: real containers need root")


MOST_DESCRIPTORS_KEPT = 64
"""What one file of tests may leave open: libraries and servers keep some until the process ends."""
COLLECTED_FROM = 8
"""What a harness leaves goes with the garbage, which may be late: the system has 128 inotify descriptors in all."""


os.environ.setdefault("SUPERVISION_TIME_SCALE", "1")
"""Tests know the deadlines of the policy; a machine that is slow at the start of one is to change none of them."""
os.environ.pop(ROOT_DIR_VARIABLE, None)  # tests name their root directories


for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    # a shell has a job in the background ignore both, and the commands that tests start would inherit that
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """The processes of a run send reports as UTF-8, and logs name files whose names are not."""
    return readable((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in MARKED_FOLDERS:
            item.add_marker(getattr(pytest.mark, folder))
        elif any(item.get_closest_marker(name) for name in (*MARKED_FOLDERS, "alone")):
            raise pytest.UsageError(f"{item.nodeid}: tests/run.py looks for these only in {MARKED_FOLDERS}")
        if os.geteuid() != 0 and item.get_closest_marker("node"):
            item.add_marker(NEEDS_ROOT)
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)  # begun last, they would be what all others wait for


def pytest_collection_finish() -> None:
    """The collector of garbage goes through the live objects again and again; thousands of tests are a sixth of the
    processor time of a run."""
    gc.collect()
    gc.freeze()


def _descriptors() -> list[str]:
    return os.listdir("/proc/self/fd")


@pytest.fixture(autouse=True, scope="module")
def _files_are_closed(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """A file of tests that leaves descriptors open fails here, and not another one that runs out of them later. The
    value: how many there were when garbage was last collected."""
    before = len(_descriptors())
    with ports_given_back():
        yield [before]
    if len(_descriptors()) - before > COLLECTED_FROM:
        gc.collect()
    kept = len(_descriptors()) - before
    assert kept <= MOST_DESCRIPTORS_KEPT, f"{request.node.name} leaves {kept} descriptors open"


@pytest.fixture(autouse=True)
def _few_files_wait_for_the_collector(_files_are_closed: list[int]) -> Iterator[None]:
    """So that the tests of other processes have inotify descriptors left."""
    yield
    if len(_descriptors()) - _files_are_closed[-1] > COLLECTED_FROM:
        gc.collect()
        _files_are_closed.append(len(_descriptors()))
