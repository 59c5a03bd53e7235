"""/run/{namespace}/{pod}[/{uid}]/{container}: runs a command, and answers with its output after its end."""

from __future__ import annotations

from tornado.iostream import StreamClosedError

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.streaming.stream import container_id, container_not_found, find_for_stream
from actors.shared.cri.errors import CriError


async def post(handler: ServerHandler, namespace: str, pod: str, container: str, uid: str = "") -> None:
    """The command may be in the body, as a form. It runs for as long as the caller waits."""
    found = await find_for_stream(handler, namespace, pod, uid, container_not_found(container))
    running = handler.state.runtime.exec_sync(container_id(found, container), words_of(handler))
    try:
        ran = await handler.while_connected(running)
    except StreamClosedError:
        return
    except CriError as error:
        raise HttpError(500, error.rpc_text) from None
    if ran.exit_code:
        stderr = ran.stderr.decode(errors="replace")
        raise HttpError(500, f"command '{' '.join(words_of(handler))}' exited with {ran.exit_code}: {stderr}")
    if ran.stdout or ran.stderr:
        handler.set_header("Content-Type", "application/json")  # for any output, as in the kubelet
    handler.finish(ran.stdout + ran.stderr)


def words_of(handler: ServerHandler) -> list[str]:
    texts = handler.get_body_arguments("cmd", strip=False) or handler.get_query_arguments("cmd", strip=False)
    return (texts[0] if texts else "").split(" ")


ENDPOINT = Endpoint(
    paths=("/run/{namespace}/{pod}/{container}", "/run/{namespace}/{pod}/{uid}/{container}"),
    answers={"POST": post},
    answers_405_when_disabled=True,
)
