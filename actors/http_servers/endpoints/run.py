"""/run/{namespace}/{pod}[/{uid}]/{container}: runs a command, and answers with its output after its end."""

from __future__ import annotations

import shlex
from typing import Final

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.streaming.stream import container_id, find_for_stream
from actors.shared.cri.errors import CriError, DeadlineExceeded

RUN_SECONDS: Final = 120


async def post(handler: ServerHandler, namespace: str, pod: str, container: str, uid: str = "") -> None:
    words = handler.get_query_argument("cmd", "").split(" ")
    found = await find_for_stream(handler, namespace, pod, uid)
    try:
        ran = await handler.state.runtime.exec_sync(container_id(found, container), words, RUN_SECONDS)
    except DeadlineExceeded:
        raise HttpError(500, f"{shlex.join(words)}: no result within {RUN_SECONDS} s") from None
    except CriError as error:
        raise HttpError(500, error.rpc_text) from None
    if ran.exit_code:
        said = ran.stderr.decode(errors="replace")
        raise HttpError(500, f"command '{' '.join(words)}' exited with {ran.exit_code}: {said}")
    handler.finish(ran.stdout + ran.stderr)


ENDPOINT = Endpoint(
    paths=("/run/{namespace}/{pod}/{container}", "/run/{namespace}/{pod}/{uid}/{container}"),
    answers={"POST": post},
    answers_405_when_disabled=True,
)
