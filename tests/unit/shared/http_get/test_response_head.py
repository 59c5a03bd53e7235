"""The head of a response, and the length of its body."""

from __future__ import annotations

import asyncio

import pytest

from actors.shared.http_get.errors import ExchangeError
from actors.shared.http_get.response_head import ResponseHead, read_head


def read(text: str) -> ResponseHead:
    async def story() -> ResponseHead:
        reader = asyncio.StreamReader()
        reader.feed_data(text.encode())
        reader.feed_eof()
        return await read_head(reader)

    return asyncio.run(story())


@pytest.mark.parametrize("status", [204, 304])
def test_the_length_of_a_response_without_a_body_does_not_matter(status: int) -> None:
    assert read(f"HTTP/1.1 {status} x\r\nContent-Length: many\r\n\r\n").status == status


def test_a_length_that_is_no_number_breaks_a_response_with_a_body() -> None:
    with pytest.raises(ExchangeError, match="bad Content-Length"):
        read("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")
