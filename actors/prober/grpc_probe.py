"""gRPC probes: the health check grpc.health.v1.Health/Check, in plain text; SERVING is a success.

The two messages of the protocol are coded by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from actors.shared.config.fields.duration import Duration
from actors.shared.grpc_threads import ensure_threads
from actors.shared.kube.go_text import client_details, rpc_error
from actors.shared.kube.handlers import GRPCAction
from actors.shared.kube.host_port import joined
from supervision.errors import error_reason

from .grpc_relay import GrpcRelay
from .outcome import USER_AGENT, ProbeOutcome, error, failure, success
from .probe_type import ProbeType, Subject

if TYPE_CHECKING:
    import grpc

METHOD: Final = "/grpc.health.v1.Health/Check"
SERVING: Final = 1
NO_MESSAGE: Final = "cardinality violation: received no response message from non-server-streaming RPC"
_STATUS: Final = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


class GrpcProbe(ProbeType[GRPCAction]):
    """Always to the pod's address."""

    field: ClassVar[str] = "grpc"

    def needs_pod_ip(self, action: GRPCAction) -> bool:
        return True

    async def run(self, action: GRPCAction, subject: Subject) -> ProbeOutcome:
        service = action.service or ""
        return await probe_grpc(subject.pod_ip, action.port, service, subject.timeout_seconds, subject.key[0])


async def probe_grpc(host: str, port: int, service: str, timeout: float, whose: str = "") -> ProbeOutcome:
    """`whose`: the pod's UID."""
    try:
        ensure_threads()
        async with GrpcRelay(host, port, whose) as relay:
            return await _check(relay, joined(host, port), service, timeout)
    except OSError as problem:
        return error(error_reason(problem))


async def _check(relay: GrpcRelay, address: str, service: str, timeout: float) -> ProbeOutcome:
    # not loaded where no pod has such a probe
    import grpc

    # without retries: after a GOAWAY on a connection that the server keeps, the library would try the call again on it
    # for ever, and not give the thread back (measured on 1.85.1)
    options = [
        ("grpc.primary_user_agent", USER_AGENT), ("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1),
        ("grpc.default_authority", address), ("grpc.enable_retries", 0),
    ]  # fmt: skip
    limit = Duration(timeout)
    async with grpc.aio.insecure_channel(relay.target, options) as channel:
        call = channel.unary_unary(METHOD, request_serializer=bytes, response_deserializer=bytes)
        connected = False
        try:
            async with relay.within(timeout):
                await channel.channel_ready()  # a port that opens within the timeout is in time
                connected = True
                answer = await call(encoded(service))
        except TimeoutError:
            if relay.flooded:
                return _broken(relay.broken)
            if relay.shortage:
                return error(relay.shortage)
            if connected:
                return failure(_too_late(limit))
            return failure(f'timeout: failed to connect service "{address}" within {limit}: context deadline exceeded')
        except grpc.aio.AioRpcError as problem:
            return _failure_of(problem, limit, relay.broken)
    if answer is None:  # the server has ended the call well, and sent no message
        return failure(f"error: health rpc probe failed: {rpc_error('INTERNAL', NO_MESSAGE)}")
    status = status_of(answer)
    if status == SERVING:
        return success("service healthy")
    return failure(f'service unhealthy (responded with "{_STATUS.get(status, str(status))}")')


def _failure_of(problem: grpc.aio.AioRpcError, limit: Duration, broken: str) -> ProbeOutcome:
    """`broken`: see `GrpcRelay.broken`."""
    code, details = problem.code().name, client_details(problem.details() or "")
    if broken and code == "UNAVAILABLE":
        return _broken(broken)
    if code == "DEADLINE_EXCEEDED":
        return failure(_too_late(limit))
    if code == "UNIMPLEMENTED":
        text = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)"
        return failure(f"{text}: {details}")
    return failure(f"error: health rpc probe failed: {rpc_error(code, details)}")


def _broken(why: str) -> ProbeOutcome:
    return failure(f"error: health rpc probe failed: {rpc_error('UNAVAILABLE', f'error reading from server: {why}')}")


def _too_late(limit: Duration) -> str:
    return f"timeout: health rpc did not complete within {limit}"


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
    """HealthCheckResponse: field 1, the status; 0 (unknown) if it is missing or the message is damaged."""
    if not answer.startswith(b"\x08"):
        return 0
    value = 0
    for shift, byte in enumerate(answer[1:11]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value
    return 0
