"""Paths whose code is loaded by their first request: most nodes never see one of some of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, ClassVar, cast

from .handler import Handler

_PACKAGE = "actors.http_servers"
Page = Callable[..., Coroutine[Any, Any, None]]


class LazyHandler(Handler):
    """Subclasses, made by `lazily`, name the function that answers: `page(handler, *parts of the path)`."""

    where: ClassVar[str] = ""
    method: ClassVar[str] = "GET"
    other: ClassVar[str] = ""

    async def get(self, *parts: str) -> None:
        await self._answer("GET", parts)

    async def post(self, *parts: str) -> None:
        await self._answer("POST", parts)

    async def put(self, *parts: str) -> None:
        await self._answer("PUT", parts)

    async def delete(self, *parts: str) -> None:
        await self._answer("DELETE", parts)

    async def _answer(self, method: str, parts: tuple[str, ...]) -> None:
        if method != self.method and not (self.other and method == "DELETE"):
            self.send_error(405)
            return
        module, _, function = (self.where if method == self.method else self.other).partition(":")
        page = cast(Page, getattr(import_module(module), function))
        await page(self, *parts)


def lazily(where: str, method: str = "GET", *, delete: str = "") -> type[Handler]:
    """`where`, and `delete` for that method: `module:function`, the module below this package."""
    other = f"{_PACKAGE}.{delete}" if delete else ""
    return type("Lazy", (LazyHandler,), {"where": f"{_PACKAGE}.{where}", "method": method, "other": other})
