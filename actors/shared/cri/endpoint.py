"""Runtime endpoints, as given to --container-runtime-endpoint: the path of a Unix socket, with or without `unix://`."""

from __future__ import annotations

from typing import Final

from actors.shared.config.endpoints import MAX_SOCKET_PATH

from .errors import EndpointError

RUNTIME_FLAG: Final = "--container-runtime-endpoint"
IMAGE_FLAG: Final = "--image-service-endpoint"


def socket_path(endpoint: str, flag: str = RUNTIME_FLAG) -> str:
    """The absolute path that `endpoint` names. Raises EndpointError, which names `flag`."""
    scheme, separator, rest = endpoint.partition("://")
    path = rest if separator else endpoint
    if separator and scheme != "unix":
        raise EndpointError(f"{flag}: {endpoint!r}: only unix:// endpoints can be used here, not {scheme}://")
    if not path.startswith("/"):
        raise EndpointError(f"{flag}: {endpoint!r}: must be unix:// and the absolute path of a socket")
    if len(path.encode()) > MAX_SOCKET_PATH:
        raise EndpointError(f"{flag}: {endpoint!r}: a socket's path has at most {MAX_SOCKET_PATH} bytes")
    if "\0" in path:
        raise EndpointError(f"{flag}: {endpoint!r}: a path has no NUL")
    return path
