"""The bound on streams of exec, attach and port-forward."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.server_state import OpenStreams


def test_a_stream_too_many_is_refused_and_one_that_ends_makes_room() -> None:
    streams = OpenStreams(2)
    with streams.one_more(), ExitStack() as others:
        others.enter_context(streams.one_more())
        with pytest.raises(HttpError, match="there are 2 streams already") as refused:
            others.enter_context(streams.one_more())
        assert refused.value.status == 429
        others.close()
        others.enter_context(streams.one_more())


def test_a_stream_that_fails_makes_room_too() -> None:
    streams = OpenStreams(1)
    for _ in range(3):
        with pytest.raises(OSError, match="gone"), streams.one_more():
            raise OSError("gone")
