"""A runtime that is not there: the text says what to do."""

from __future__ import annotations

import socket
from pathlib import Path

from actors.container_runtime.socket_check import absence


def test_an_accepting_socket_has_no_problem(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "sock"))
        listening.listen()
        assert absence(f"unix://{tmp_path}/sock") is None


def test_a_runtime_that_is_missing_stopped_or_no_socket_is_distinguished(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(tmp_path / "dead"))
    for name, words in (("none", "there is no"), ("file", "is not a socket"), ("dead", "nothing answers there")):
        text = str(absence(f"unix://{tmp_path}/{name}"))
        assert f"{tmp_path}/{name}" in text
        assert words in text
        assert "--container-runtime-endpoint=managed" in text


def test_a_path_through_a_file_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "Not a directory" in str(absence(f"unix://{tmp_path}/file/sock"))
