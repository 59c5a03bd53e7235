"""/healthz: all health checks, or the one in the path."""

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
        raise HttpError(404, "404 page not found")
    chosen = {check: results[check]} if check else results
    excluded = handler.get_query_arguments("exclude")
    verbose = "verbose" in str(handler.request.query).replace("=", "&").split("&")
    well, text = health_checks.report(chosen, excluded, verbose=verbose)
    handler.set_status(200 if well else 500)
    handler.finish(text)


ENDPOINT = Endpoint(
    paths=("/healthz", "/healthz/{check}"),
    answers={"GET": get},
    heads=True,
    subresources=("healthz", "proxy"),
    on_read_only_server=True,
    open_standalone=True,
)
