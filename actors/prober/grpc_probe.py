"""The health check of gRPC (grpc.health.v1.Health/Check), in plain text. Its two messages are coded by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from actors.shared.kube.host_port import joined

from .outcome import USER_AGENT, Outcome, failure, success, timed_out

if TYPE_CHECKING:
    import grpc

METHOD: Final = "/grpc.health.v1.Health/Check"
SERVING: Final = 1
_STATUS: Final = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


async def probe_grpc(host: str, port: int, service: str, timeout: float) -> Outcome:
    # not loaded where no pod has such a probe
    import grpc

    options = [
        ("grpc.primary_user_agent", USER_AGENT), ("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1),
    ]  # fmt: skip
    async with grpc.aio.insecure_channel(
        f"ipv6:{joined(host, port)}" if ":" in host else joined(host, port), options
    ) as channel:
        call = channel.unary_unary(METHOD, request_serializer=bytes, response_deserializer=bytes)
        try:
            answer = await call(encoded(service), timeout=timeout)
        except grpc.aio.AioRpcError as error:
            return _refused(error, timeout)
    status = status_of(answer)
    if status == SERVING:
        return success("service healthy")
    return failure(f'service unhealthy (responded with "{_STATUS.get(status, str(status))}")')


def _refused(error: grpc.aio.AioRpcError, timeout: float) -> Outcome:
    code = error.code().name
    if code == "UNIMPLEMENTED":
        return failure("this server does not implement the grpc health protocol (grpc.health.v1.Health)")
    if code == "DEADLINE_EXCEEDED":
        return timed_out(timeout)
    return failure(f"health rpc probe failed: {code}: {error.details() or ''}")


def encoded(service: str) -> bytes:
    """HealthCheckRequest: field 1, the name of the service."""
    name = service.encode()
    return b"\x0a" + varint(len(name)) + name if name else b""


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def status_of(answer: bytes) -> int:
    """HealthCheckResponse: field 1, the status; 0 (unknown) when it is not there or the message is damaged."""
    if not answer.startswith(b"\x08"):
        return 0
    value = 0
    for shift, byte in enumerate(answer[1:11]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value
    return 0
