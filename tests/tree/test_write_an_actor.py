"""The actor of docs/write-an-actor.md in a supervised tree."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.documented_actor import write
from tests.support.fork_server_process import ForkServerProcess

pytestmark = pytest.mark.tree


def test_the_documented_actor_is_restarted_and_greets_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    fork_server = ForkServerProcess("greeter:application", tmp_path / "run", PYTHONPATH=path)
    try:
        fork_server.wait_running("greeter")
        greeter = sys.modules.get("greeter") or __import__("greeter")
        for incarnation in (1, 2):
            fork_server.wait_running("greeter", incarnation=incarnation)
            answer = fork_server.ask(greeter.Greet("you"), greeter.Greeting, "greeter")
            assert answer.text == f"hello you, I am incarnation {incarnation}"
            fork_server.kill("greeter")
    finally:
        fork_server.process.terminate()
        fork_server.process.wait()
