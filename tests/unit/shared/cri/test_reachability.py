"""Whether a program listens on the socket of a runtime."""

from __future__ import annotations

import socket
from pathlib import Path

from actors.shared.cri.reachability import unreached


def test_the_socket_of_the_runtime_is_tried(tmp_path: Path) -> None:
    path = f"{tmp_path}/r.sock"
    assert unreached(f"unix://{path}") == f"unix://{path} cannot be reached: No such file or directory"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        assert "Connection refused" in unreached(f"unix://{path}")
        listener.listen(0)
        assert unreached(f"unix://{path}") == ""
        assert unreached(f"unix://{path}") == "", "a program that takes no connection listens all the same"
    assert unreached("managed") == ""
