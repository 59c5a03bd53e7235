"""Chunked bodies, in one part or many, and of servers that do not behave."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.http_get.chunks import BodyError, ChunkDecoder
from actors.shared.http_get.response_body import BODY_BYTES, ResponseBody
from actors.shared.http_get.response_bytes import ResponseBytes


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.data())
def test_a_body_is_the_same_in_whatever_parts_it_arrives(chunks: list[bytes], data: st.DataObject) -> None:
    lines = st.sampled_from(["%x\r\n", "%X;name=value\r\n", "0%x \r\n"])
    sent = b"".join((data.draw(lines) % len(chunk)).encode() + chunk + b"\r\n" for chunk in chunks) + b"0\r\n"
    content, held = bytearray(), bytearray()
    decoder = ChunkDecoder(content, 1000)
    while not decoder.decode(held):
        count = data.draw(st.integers(1, 50))
        assert sent, "the decoder waits for more than there is"
        held += sent[:count]
        sent = sent[count:]
    assert bytes(content) == b"".join(chunks)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"1;" + b"x" * 5000, "header line too long"),
        (b"1;" + b"x" * 4000 + b"\r\ny\r\n", "chunked encoding contains too much non-data"),
        (b"x\r\n", "invalid byte in chunk length"),
        (b"1" * 17 + b"\r\n", "invalid byte in chunk length"),
        (b"1\r\nxy\r\n", "malformed chunked encoding"),
    ],
)
def test_a_server_that_sends_more_beside_the_data_than_data_is_refused_in_the_words_of_go(
    sent: bytes, error: str
) -> None:
    with pytest.raises(BodyError, match=error):
        ChunkDecoder(bytearray(), BODY_BYTES).decode(bytearray(sent * 10))


def test_between_the_parts_of_a_body_in_small_chunks_others_have_their_turn() -> None:
    async def story() -> int:
        reader = asyncio.StreamReader()
        reader.feed_data(b"1\r\nx\r\n" * BODY_BYTES)
        body = ResponseBody(ResponseBytes(reader))
        reading = asyncio.ensure_future(body.read(200, {"transfer-encoding": "chunked"}))
        turns = 0
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        assert body.content == b"x" * BODY_BYTES
        return turns

    assert asyncio.run(story()) > 3
