"""Registry credentials in files of the node: the first file with credentials among the paths of the kubelet and
docker."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Final

from actors.shared.config.start.host import working_directory
from supervision.state_file import read_private

from .keyring import Keyring, read_docker_config

KEPT_SECONDS: Final = 300.0
MAX_BYTES: Final = 1 << 20


def places(root_dir: str, environment: Mapping[str, str], directory: str) -> list[str]:
    """The paths to try, in order. Pure. `directory`: the working directory."""
    home = environment.get("HOME", "")
    new = [root_dir, directory, f"{home}/.docker" if home else "", "/.docker"]
    old = [root_dir, directory, home, "/"]
    found = [f"{place.rstrip('/')}/config.json" for place in new if place]
    found += [f"{place.rstrip('/')}/.dockercfg" for place in old if place]
    return list(dict.fromkeys(found))


class NodeCredentials:
    """The content of the files, read again after KEPT_SECONDS."""

    def __init__(self, root_dir: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._root_dir, self._clock = root_dir, clock
        self._read_at = float("-inf")
        self._keyring = Keyring()

    def keyring(self) -> Keyring:
        now = self._clock()
        if now - self._read_at >= KEPT_SECONDS:
            self._keyring, self._read_at = self._read(), now
        return self._keyring

    def _read(self) -> Keyring:
        for path in places(self._root_dir, os.environ, working_directory()):
            try:
                found = read_docker_config([read_private(path)[:MAX_BYTES]])
            except OSError:
                continue
            if found.entries:
                return found
        return Keyring()
