"""A request, what its path means, and the forms an answer has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from . import protobuf
from .errors import StatusError, generic
from .objects import Obj
from .resources import BY_PATH, Resource

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, list[str]] = field(default_factory=dict)

    @property
    def node(self) -> str:
        """The node's name, if a node asks."""
        member = "system:nodes" in self.groups and self.name.startswith("system:node:")
        return self.name.removeprefix("system:node:") if member else ""

    @property
    def admin(self) -> bool:
        return "system:masters" in self.groups


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    user: User = ANONYMOUS
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Every header, also one that is there again; to be passed on."""
    connection: int = 0
    """1 for the first connection of the server."""
    warnings: list[str] = field(default_factory=list)
    """What is to be said to the client beside the answer."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.target)
        self.path = unquote(parts.path)
        self.pairs = parse_qsl(parts.query, keep_blank_values=True)
        self.query = dict(self.pairs)

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("true", "1")

    def json(self) -> Obj:
        """Raises StatusError 400."""
        content = self.headers.get("content-type", "application/json")
        if "protobuf" in content:
            return protobuf.body(self.body)
        try:
            found = msgspec.yaml.decode(self.body) if "yaml" in content else msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
            raise StatusError(400, f"the object provided is unrecognized: {error}") from None
        if not isinstance(found, dict):
            raise StatusError(400, "the object provided is unrecognized (must be an object)")
        return found


@dataclass(frozen=True)
class Target:
    """What a path is about."""

    resource: Resource
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """Of a proxied path, what comes after it."""

    @property
    def described(self) -> str:
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def target_of(request: Request) -> Target | None:
    """None if the path is no resource's; raises StatusError 404 for one that is of none we have."""
    parts = [part for part in request.path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and (rest[2] not in ("status", "finalize") or len(rest) > 3):
        namespace, rest = rest[1], rest[2:]
    resource = BY_PATH.get((group, version, rest[0]))
    if resource is None:
        raise generic(404)
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    return Target(resource, _verb(request, name), namespace, name, subresource, "/".join(rest[3:]))


def _verb(request: Request, name: str) -> str:
    if request.method in ("GET", "HEAD"):
        if request.flag("watch"):
            return "watch"
        return "get" if name else "list"
    if request.method == "DELETE" and not name:
        return "deletecollection"
    return VERBS.get(request.method, request.method.lower())


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = field(default_factory=list)


@dataclass
class Stream:
    """200, and pieces as they come."""

    pieces: AsyncIterator[bytes]
    content_type: str = "application/json"
    status: int = 200
    content_encoding: str = ""

    @classmethod
    def of(cls, *events: Obj) -> Stream:
        """A watch that tells these and ends."""

        async def pieces() -> AsyncIterator[bytes]:
            for one in events:
                yield msgspec.json.encode(one) + b"\n"

        return cls(pieces())


class Cut(ConnectionError):
    """Raised by the pieces of a Stream: the connection is cut there."""


@dataclass
class Hijack:
    """The connection is somebody else's from here on: (reader, writer, bytes that came early)."""

    take: Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]
    status: int = 101


@dataclass
class Drop:
    """The connection is cut, without an answer; `status` is what it would have been."""

    status: int = 0


Reply = Answer | Stream | Hijack | Drop


def answer(obj: Obj, status: int = 200, headers: Headers | None = None) -> Answer:
    return Answer(status, msgspec.json.encode(obj), headers=headers or [])
