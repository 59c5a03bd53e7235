"""What is committed beside each .proto is what `make proto` makes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import proto

DIRECTORY = Path(proto.__file__).parent


@pytest.mark.parametrize("name", sorted(file.stem for file in DIRECTORY.glob("*.proto")))
def test_the_committed_modules_are_what_the_generator_makes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    arguments = ["-I.", f"--python_out={tmp_path}", f"--grpc_python_out={tmp_path}", f"proto/{name}.proto"]
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", *arguments], cwd=DIRECTORY.parent, check=True, timeout=60
    )
    for module in (f"{name}_pb2.py", f"{name}_pb2_grpc.py"):
        assert (tmp_path / "proto" / module).read_bytes() == (DIRECTORY / module).read_bytes()
