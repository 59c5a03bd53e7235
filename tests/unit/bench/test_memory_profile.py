"""The recorder of the memory profile: what is written, and in which order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.bench.memory_profile import LEAST_ACTORS, Profile, in_order
from tests.bench.recorder.sitecustomize import DIRECTORY

PROGRAM = """
import os

from supervision.fork_server.signals import in_child
from tests.bench.recorder.sitecustomize import SIGNAL

def before():
    pass

def after(it):
    return it.some_attribute if it else {"some_key": "no name"}

before()
if os.fork() == 0:
    in_child(handles_signals=False)
    after(None)
    os.kill(os.getpid(), SIGNAL)
    os._exit(0)
os.wait()
"""


def test_modules_are_ordered_by_the_number_of_actors_that_use_them() -> None:
    used = {"d": {"b"}, "c": {"a"}, "all": {"a", "b"}, "e": {"b"}, "f": {"a"}}
    assert in_order(used) == ["all", "c", "f", "d", "e"]


def test_a_profile_is_written_as_lines_without_functions_of_few_actors(tmp_path: Path) -> None:
    profile = Profile()
    for number in range(LEAST_ACTORS):
        profile.add(f"actor{number}", [{"function": "module g", "names": ["n"]}])
    profile.add("actor0", [{"function": "module f", "names": ["n", "m"]}])
    profile.write(tmp_path)
    assert Path(tmp_path, "functions.txt").read_text() == "module g\n"
    assert Path(tmp_path, "names.txt").read_text() == "n\nm\n"


def test_a_forked_process_records_the_functions_that_it_called_after_the_fork(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    directory = tmp_path / "profile"
    directory.mkdir()
    environment = {**os.environ, "PYTHONPATH": f"{root}/tests/bench/recorder:{root}", DIRECTORY: str(directory)}
    subprocess.run([sys.executable, str(program)], env=environment, check=True, timeout=60)
    (written,) = directory.iterdir()
    called = {one["function"]: one["names"] for one in json.loads(written.read_text())}
    assert "__main__ before" not in called
    assert not any("sitecustomize" in function for function in called)
    assert called["__main__ after"] == ["some_attribute", "some_key"]
