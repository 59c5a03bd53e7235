"""What a limit of the kernel on a process does, and how it is told: in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from supervision.resource_limits import OpenFiles, open_files
from tests.support.agent_command import SOURCES

ALLOW = """
import resource, sys
from supervision.resource_limits import allow_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 512))
allow_open_files(int(sys.argv[1]))
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""
WRITE = """
import resource, sys
from supervision.state_file import write_private
from supervision.unwritten_files import UNWRITTEN
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    write_private(sys.argv[1], b"text")
except OSError:
    pass
print(UNWRITTEN.report()[0])
print(UNWRITTEN.remedy)
"""


def run(code: str, *arguments: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("wanted", "soft"), [(0, 128), (64, 128), (300, 300), (1_000_000, 512)])
def test_a_program_may_open_what_it_wants_as_far_as_the_hard_limit_allows(wanted: int, soft: int):
    assert run(ALLOW, str(wanted)) == [f"{soft} 512"]


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_told_as_such_and_not_as_a_full_disk(tmp_path: Path):
    text, remedy = run(WRITE, f"{tmp_path}/state", "2")
    reason = "File too large: this process may write files of at most 2 bytes (RLIMIT_FSIZE)"
    assert text == f"{tmp_path}/state cannot be written: {reason}"
    assert "LimitFSIZE" in remedy
    assert "disk" not in remedy
    assert run(WRITE, f"{tmp_path}/state", "1000") == ["", ""]


def test_the_open_files_of_a_process_and_their_limit_are_read():
    found = open_files(os.getpid())
    assert found is not None
    assert 0 < found.opened <= found.most == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert open_files(2**22 + 1) is None
    assert isinstance(found, OpenFiles)
