"""The endpoints of the node's HTTP API. Each module of this package is one, and declares it as ENDPOINT; a new module
needs no other change."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Final

from actors.http_servers.serving.endpoint import Endpoint


def _load_endpoints() -> tuple[Endpoint, ...]:
    return tuple(import_module(f"{__name__}.{found.name}").ENDPOINT for found in pkgutil.iter_modules(__path__))


ENDPOINTS: Final = _load_endpoints()
