"""A place for agents that have a containerd of their own (`--container-runtime-endpoint=managed`), gone afterwards."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime.errors import MissingPrograms
from actors.container_runtime.host import RuntimeHost, look
from actors.shared.config.agent import MANAGED
from tests.support.remains import managed
from tests.support.runtime import PREFIX, SEARCH, RealRuntime, sweep


class ManagedRuntime(RealRuntime):
    """The containerd of the agent in <base>/<name>, which starts and ends it: nothing here does."""

    @property
    def configured_endpoint(self) -> str:
        return MANAGED

    def __init__(self, base: Path, host: RuntimeHost, name: str) -> None:
        super().__init__(base, host)
        self.instance = managed(f"{base}/{name}/root")


@contextlib.contextmanager
def managed_runtime(name: str = "agent") -> Iterator[ManagedRuntime]:
    """For one agent, to be started by the test. Skips where there cannot be one, saying why."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED with real containers: this needs root")
    try:
        host = look(tempfile.gettempdir(), os.environ.get(SEARCH, ""))
    except MissingPrograms as error:
        pytest.skip(f"NOT TESTED with real containers: {error}")
    sweep()
    runtime = ManagedRuntime(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")), host, name)
    try:
        yield runtime
    finally:
        left = runtime.purge()
    assert not left, f"left behind: {left}"
