"""The bound on streams of exec, attach and port-forward."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.server_state import OpenStreams


def test_a_stream_too_many_is_refused_and_one_that_ends_makes_room() -> None:
    streams = OpenStreams(2)
    with streams.one_more("n/p"), ExitStack() as others:
        others.enter_context(streams.one_more("n/p"))
        with pytest.raises(HttpError, match="there are 2 streams already") as refused:
            others.enter_context(streams.one_more("n/p"))
        assert refused.value.status == 429
        others.close()
        others.enter_context(streams.one_more("n/p"))


def test_a_stream_that_fails_makes_room_too() -> None:
    streams = OpenStreams(1)
    for _ in range(3):
        with pytest.raises(OSError, match="gone"), streams.one_more("n/p"):
            raise OSError("gone")


def test_the_streams_of_one_pod_leave_some_to_other_pods() -> None:
    streams = OpenStreams(3, 2)
    with streams.one_more("n/p"), streams.one_more("n/p"):
        with pytest.raises(HttpError, match="there are 2 streams of n/p already") as refused, streams.one_more("n/p"):
            pass
        assert refused.value.status == 429
        with streams.one_more("n/other"), pytest.raises(HttpError, match="there are 3 streams already"):
            streams.one_more("n/third").__enter__()
