"""The head of a response, and the length of its body."""

from __future__ import annotations

import asyncio

import pytest

from actors.shared.http_get.errors import ExchangeError
from actors.shared.http_get.response_bytes import ResponseBytes
from actors.shared.http_get.response_head import ResponseHead, read_head


def read(text: str) -> ResponseHead:
    async def story() -> ResponseHead:
        reader = asyncio.StreamReader()
        reader.feed_data(text.encode())
        reader.feed_eof()
        return await read_head(ResponseBytes(reader))

    return asyncio.run(story())


@pytest.mark.parametrize("status", [204, 304])
def test_the_length_of_a_response_without_a_body_does_not_matter(status: int) -> None:
    assert read(f"HTTP/1.1 {status} x\r\nContent-Length: many\r\n\r\n").status == status


def test_a_length_that_is_no_number_breaks_a_response_with_a_body() -> None:
    with pytest.raises(ExchangeError, match="bad Content-Length"):
        read("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")


def test_a_head_of_very_many_lines_is_read_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    more = ResponseBytes.more

    async def counted(received: ResponseBytes) -> bool:
        steps.append(1)
        return await more(received)

    monkeypatch.setattr(ResponseBytes, "more", counted)
    assert len(read("HTTP/1.1 200 OK\r\n" + "".join(f"a{n}:\n" for n in range(8000)) + "\n").fields) == 8000
    assert len(steps) < 10


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\n\r\n", "\r\n\n"])
def test_a_head_that_arrives_byte_by_byte_ends_at_its_empty_line(end: str) -> None:
    async def story() -> tuple[ResponseHead, bytes]:
        reader = asyncio.StreamReader()
        received = ResponseBytes(reader)
        reading = asyncio.ensure_future(read_head(received))
        for byte in f"HTTP/1.1 200 OK\nA: b{end}body".encode():
            reader.feed_data(bytes([byte]))
            await asyncio.sleep(0)
        head = await reading
        while len(received.held) < 4:
            await received.more()
        return head, received.take(100)

    assert asyncio.run(story()) == (ResponseHead(200, {"a": "b"}), b"body")
