"""What objects travel as: JSON, or the API's protobuf, for the collections of which the agent has the messages.

Both sides see JSON here: a request is written in protobuf last, an answer is read first. What protobuf cannot hold goes
as JSON: an object with a field that the messages lack, or a kind that they lack. A patch is always JSON, as in
client-go. An answer is what its Content-Type says.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from .errors import ApiError, TooLarge, Unreachable, Unreadable
from .exchange import MAX_OBJECT, ApiResponse, RequestForm, WatchEvent, event_of, watch_event
from .frames import Frames
from .lines import Lines

JSON: Final = "application/json"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_PROTOBUF_OR_JSON: Final = f"{PROTOBUF},{JSON}"
_WRITTEN: Final = frozenset({"POST", "PUT", "DELETE"})
_NOT_ACCEPTABLE: Final = 406
_UNSUPPORTED: Final = 415
SLICE_SECONDS: Final = 0.02
"""After so long the reading of a list lets others run."""
_LOG: Final = logging.getLogger(__name__)


class MediaTypes:
    """Those of one client. `content_type`: PROTOBUF; everything else means JSON."""

    def __init__(self, content_type: str = JSON) -> None:
        self._protobuf = content_type == PROTOBUF
        self._refused = set[str]()
        """Collections for which the server does not take protobuf."""

    def form(self, method: str, path: str, content_type: str = "", body: bytes = b"") -> RequestForm:
        """`content_type` of a `body` as the caller has it."""
        if not self._collection(path):
            return RequestForm(JSON, content_type, body)
        written = _written(body) if body and content_type == JSON and method in _WRITTEN else None
        if written is None:
            return RequestForm(_PROTOBUF_OR_JSON, content_type, body)
        return RequestForm(_PROTOBUF_OR_JSON, PROTOBUF, written)

    def is_refused(self, path: str, form: RequestForm, error: ApiError) -> bool:
        """Whether the server refuses the form, and not the request. Then it goes as JSON, as all further ones of the
        collection do."""
        is_body = error.status == _UNSUPPORTED and form.content_type == PROTOBUF
        if not is_body and (error.status != _NOT_ACCEPTABLE or form.accept == JSON):
            return False
        if collection := self._collection(path):
            self._refused.add(collection)
            _LOG.warning("the API server does not take protobuf for %s: JSON from now on (%s)", collection, error)
        return True

    def _collection(self, path: str) -> str:
        """The collection for which protobuf is spoken; empty for none."""
        if not self._protobuf:
            return ""
        from actors.shared.kube.protobuf.kinds import collection_of

        found = collection_of(path)
        return "" if found in self._refused else found

    # -- answers --------------------------------------------------------------------------------------------------
    async def as_json(self, answer: ApiResponse, most: int) -> ApiResponse:
        """The answer in JSON, with at most so many bytes. Raises Unreadable and TooLarge; an error of the server that
        cannot be read stays as it is."""
        if not self._is_protobuf(answer.headers):
            return answer
        try:
            body = await _json_of(answer.body, most)
        except Unreachable:
            if 200 <= answer.status < 300:
                raise
            return answer
        return ApiResponse(answer.status, body, {**answer.headers, "content-type": JSON})

    def events(self, headers: Mapping[str, str]) -> Callable[[bytes], Iterator[WatchEvent]]:
        """The events of a watch by its chunks. The function raises the ApiError of an ERROR event, and Unreachable for
        what is no event."""
        if self._is_protobuf(headers):
            frames = Frames()
            return lambda chunk: map(_event_of, frames.feed(chunk))
        lines = Lines()
        return lambda chunk: map(event_of, lines.feed(chunk))

    def _is_protobuf(self, headers: Mapping[str, str]) -> bool:
        return self._protobuf and headers.get("content-type", "").partition(";")[0].strip().lower() == PROTOBUF


def _written(body: bytes) -> bytes | None:
    """The object in protobuf; None if it has what protobuf cannot hold."""
    from actors.shared.kube.protobuf.envelope import from_json

    try:
        written = from_json(msgspec.json.decode(body, type=dict[str, Any]))
    except UNREADABLE:
        return None
    return written.data if written is not None and not written.unfit and not written.unknown else None


async def _json_of(body: bytes, most: int) -> bytes:
    """Raises Unreadable and TooLarge."""
    from actors.shared.kube.protobuf.envelope import TooMuchJson, json_pieces
    from actors.shared.kube.protobuf.wire import Malformed

    pieces, began = list[bytes](), time.monotonic()
    try:
        for piece in json_pieces(body, most):
            pieces.append(piece)
            if time.monotonic() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.monotonic()
    except Malformed as error:
        raise Unreadable(0, "Unreachable", f"the answer is not the API's protobuf: {error}") from None
    except TooMuchJson as error:
        raise TooLarge(0, "Unreachable", f"the answer is too large: {error}") from None
    return b"".join(pieces)


def _event_of(frame: bytes) -> WatchEvent:
    """Raises the ApiError of an ERROR event, Unreachable for invalid data."""
    from actors.shared.kube.protobuf import envelope
    from actors.shared.kube.protobuf.wire import Malformed

    try:
        kind, data = envelope.watch_event(frame)
        return watch_event(kind, envelope.to_json(data, MAX_OBJECT) if envelope.is_protobuf(data) else data or b"{}")
    except (envelope.TooMuchJson, Malformed) as error:
        raise Unreadable(0, "Unreachable", f"the watch returned an invalid event: {error}") from None
