"""python -m tests.support.cri_proxy FRONT BACK RUNTIME: sockets of the proxy, and that of the runtime.

Orders come on stdin, one a line; each is answered by a line. It ends with its input."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, NoReturn

import grpc
import grpc.aio
import msgspec

from actors.shared.cri import methods
from actors.shared.cri.methods import Method
from actors.shared.cri.transport import CHANNEL_OPTIONS, MAX_MESSAGE_BYTES
from proto import cri_pb2 as cri

from .figures import spoil
from .modes import WITHOUT_WORK, Hits, Order
from .relay import Relay

Context = grpc.aio.ServicerContext[Any, Any]
LONG_SECONDS = 120.0
MARGIN_SECONDS = 0.5
METHODS: dict[str, Method[Any, Any]] = {one.path: one for one in vars(methods).values() if isinstance(one, Method)}
PULL, IMAGE_STATUS = methods.PULL_IMAGE, methods.IMAGE_STATUS


class Proxy(grpc.GenericRpcHandler):
    """Bytes in, bytes out. It knows a message only where it changes one."""

    def __init__(self, runtime: str, relay: Relay) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix://{runtime}", options=CHANNEL_OPTIONS)
        self._relay, self._order, self._met = relay, Order(), 0
        self._calls: Counter[str] = Counter()
        self._work: set[asyncio.Task[bytes]] = set()

    def take(self, order: Order) -> Hits:
        hits = Hits(self._met, dict(self._calls))
        self._order, self._met = order, 0
        return hits

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        path = str(handler_call_details.method)
        metadata = [
            (key, value)
            for key, value in handler_call_details.invocation_metadata or ()
            if key.startswith("containerd-")
        ]
        name = path.rpartition("/")[2]

        async def answer(request: bytes, context: Context) -> bytes:
            self._calls[name] += 1
            return await self._answer(path, name, request, metadata, context)

        async def stream(request: bytes, context: Context) -> AsyncIterator[bytes]:
            self._calls[name] += 1
            async for item in self._stream(path, name, request, context):
                yield item

        if path == methods.GET_CONTAINER_EVENTS.path:
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(answer)

    def _unary(self, path: str) -> Any:
        return self._channel.unary_unary(path, None, None)

    def _meets(self, name: str) -> Order | None:
        order = self._order
        if order.method != name or self._met >= order.times:
            return None
        self._met += 1
        return order

    async def _carry_out(self, path: str, request: bytes, metadata: Any, seconds: float | None) -> bytes:
        if path == PULL.path:
            return await self._pull(request)
        call = self._unary(path)
        answered: bytes = await call(request, timeout=seconds, metadata=metadata)
        return answered

    async def _pull(self, request: bytes) -> bytes:
        """No registry is asked: an image that is there is pulled, any other is not found."""
        spec = PULL.request.FromString(request).image
        asked = cri.ImageStatusRequest(image=spec).SerializeToString()
        found = IMAGE_STATUS.response.FromString(await self._unary(IMAGE_STATUS.path)(asked))
        return cri.PullImageResponse(image_ref=found.image.id).SerializeToString()

    async def _answer(self, path: str, name: str, request: bytes, metadata: Any, context: Context) -> bytes:
        order, seconds = self._meets(name), context.time_remaining()
        if order is None:
            return await self._honest(path, request, metadata, seconds, context)
        if order.mode in WITHOUT_WORK:
            if order.mode == "empty":
                return b""
            if order.mode == "never":
                await asyncio.Event().wait()
            await context.abort(grpc.StatusCode[order.code], "injected")
        if order.mode == "full":
            await asyncio.to_thread(fill, order.filler)
        late = (seconds if seconds is not None else 5.0) + MARGIN_SECONDS if order.mode == "late" else 0.0
        work = asyncio.ensure_future(self._later(late, path, request, metadata))
        self._work.add(work)
        work.add_done_callback(self._done)
        if order.mode == "cut":
            await asyncio.sleep(0.02)
            self._relay.cut()
        try:
            answered = await asyncio.shield(work)
        except grpc.aio.AioRpcError as error:
            await _fail(context, error)
        if order.mode == "lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "error reading from server: EOF")
        if order.mode == "held":
            await asyncio.Event().wait()
        if order.mode == "emptied":
            return b""
        if order.mode in ("large", "negative") and path in METHODS:
            message = getattr(cri, f"{name}Response").FromString(answered)
            spoil(message, largest=order.mode == "large")
            answered = message.SerializeToString()
        return answered

    def _done(self, work: asyncio.Task[bytes]) -> None:
        self._work.discard(work)
        if not work.cancelled():
            work.exception()  # seen

    async def _later(self, seconds: float, path: str, request: bytes, metadata: Any) -> bytes:
        await asyncio.sleep(seconds)
        return await self._carry_out(path, request, metadata, LONG_SECONDS)

    async def _honest(self, path: str, request: bytes, metadata: Any, seconds: float | None, context: Context) -> bytes:
        try:
            return await self._carry_out(path, request, metadata, seconds)
        except grpc.aio.AioRpcError as error:
            await _fail(context, error)

    async def _stream(self, path: str, name: str, request: bytes, context: Context) -> AsyncIterator[bytes]:
        order = self._meets(name)
        if order is not None and order.mode == "error":
            await context.abort(grpc.StatusCode[order.code], "injected")
        if order is not None and order.mode in ("never", "held", "late"):
            await asyncio.Event().wait()
        call = self._channel.unary_stream(path, None, None)(request)
        try:
            async for item in call:
                order = self._meets(name)
                if order is None:
                    yield item
                    continue
                if order.mode == "cut":
                    self._relay.cut()
                if order.mode == "lost":
                    await context.abort(grpc.StatusCode.UNAVAILABLE, "error reading from server: EOF")
                if order.mode in ("large", "negative"):
                    event = cri.ContainerEventResponse.FromString(item)
                    spoil(event, largest=order.mode == "large")
                    yield event.SerializeToString()
                if order.mode in ("empty", "emptied"):
                    yield b""
        except grpc.aio.AioRpcError as error:
            await _fail(context, error)
        finally:
            call.cancel()


def fill(path: str) -> None:
    """Leave not a byte."""
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 512):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))


async def _fail(context: Context, error: grpc.aio.AioRpcError) -> NoReturn:
    await context.abort(error.code(), error.details() or "")
    raise AssertionError("abort raises")


async def main(front: str, back: str, runtime: str) -> None:
    relay = Relay(front, back)
    proxy = Proxy(runtime, relay)
    sizes = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ]
    server = grpc.aio.server(options=sizes)
    server.add_generic_rpc_handlers((proxy,))
    server.add_insecure_port(f"unix://{back}")
    await server.start()
    await relay.start()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    decoder = msgspec.json.Decoder(Order)
    while line := await reader.readline():
        print(msgspec.json.encode(proxy.take(decoder.decode(line))).decode(), flush=True)
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
