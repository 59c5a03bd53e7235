"""/containerLogs/{namespace}/{pod}/{container}: a container's log, at the speed of the client."""

from __future__ import annotations

import time

from tornado.iostream import StreamClosedError

from actors.http_servers.container_logs.log_file import LogFile, find_log
from actors.http_servers.container_logs.log_opener import LogUnavailable, open_log
from actors.http_servers.container_logs.query import LogQuery, check_stream, parse_query
from actors.http_servers.container_logs.reader import read_log
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.pods import FoundPod, find_pod
from actors.http_servers.streaming.stream import query as query_of


async def get(handler: ServerHandler, namespace: str, pod: str, container: str) -> None:
    values = {key: found[0] for key, found in query_of(handler).items()}
    if tail := values.get("tail"):  # the older name
        values["tailLines"] = tail
        if tail == "all":
            del values["tailLines"]
    query = parse_query(values, time.time())
    found = await find_pod(handler, namespace, pod)
    if found is None:
        raise HttpError(404, f'pod "{pod}" does not exist')
    log = find_log(found.pod, found.status, container, previous=query.previous)
    if not handler.state.agent.gate("PodLogsQuerySplitStreams"):
        check_stream(query)
    await _stream(handler, found, log, query)


async def _stream(handler: ServerHandler, found: FoundPod, log: LogFile, query: LogQuery) -> None:
    directory = handler.state.agent.pod_logs_dir
    metadata = found.pod.metadata

    async def running() -> bool:
        if handler.disconnected:
            raise StreamClosedError
        try:
            now = await find_pod(handler, metadata.namespace, metadata.name)
        except HttpError:
            return True  # the status manager is restarting: the stream continues
        return now is not None and log.runs_in(now.status)

    try:
        await handler.state.log_disk.require_answer(directory, log)
        async for block in read_log(lambda: open_log(directory, log.path, log.container_id), query, running):
            handler.write(block)
            await handler.flush()
        handler.finish()
    except LogUnavailable as error:
        raise log.unreadable(metadata.name, str(error)) from None
    except StreamClosedError:
        return


ENDPOINT = Endpoint(
    paths=("/containerLogs/{namespace}/{pod}/{container}",),
    answers={"GET": get},
    answers_405_when_disabled=True,
    long_running=True,
)
