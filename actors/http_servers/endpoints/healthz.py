"""/healthz: all health checks, or the check in the path."""

from __future__ import annotations

from actors.http_servers.exposition.scrape import find_tree
from actors.http_servers.serving import health_checks
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError


async def get(handler: ServerHandler, check: str = "") -> None:
    tree = await find_tree(handler.state.actor)
    results = health_checks.results(tree, handler.state.sync_loop)
    if check and check not in results:
        raise HttpError(404, "404 page not found\n")
    if check:
        failure = results[check]
        handler.set_status(500 if failure else 200)
        handler.finish(f"internal server error: {failure}\n" if failure else "ok")
        return
    excluded = handler.get_query_arguments("exclude")
    verbose = "verbose" in str(handler.request.query).replace("=", "&").split("&")
    well, text = health_checks.report(results, excluded, verbose=verbose)
    handler.set_status(200 if well else 500)
    handler.finish(text)


ENDPOINT = Endpoint(
    paths=("/healthz", "/healthz/{check}"),
    answers={"GET": get},
    heads=True,
    subresources=("healthz", "proxy"),
    on_read_only_server=True,
    open_standalone=True,
    exact=True,
)
