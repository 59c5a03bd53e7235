"""Services in the environment of a container (API doc, Service, "Environment variables"). Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.shared.pacing import pieces

MASTER_NAMESPACE, MASTER_NAME = "default", "kubernetes"
_AT_ONCE = 200
"""Services; some 5 ms."""


class _Port(msgspec.Struct, frozen=True):
    port: int
    name: str = ""
    protocol: str = "TCP"


class _Spec(msgspec.Struct, frozen=True):
    clusterIP: str = ""
    ports: list[_Port] = []


class _Meta(msgspec.Struct, frozen=True):
    name: str


class Service(msgspec.Struct, frozen=True):
    """The fields of a service that matter here."""

    metadata: _Meta
    spec: _Spec = _Spec()


_DECODER = msgspec.json.Decoder(Service)


async def service_environment(services: Iterable[bytes], master: bytes, *, links: bool) -> dict[str, str]:
    """Name to value. `links`: include the services of the pod's namespace, not only the API server's (`master`, JSON,
    or nothing), which a service of the same name in the pod's namespace overrides. Headless services have no
    variables."""
    found: dict[str, Service] = {}
    async for bodies in pieces(services if links else (), _AT_ONCE):
        for service in map(_DECODER.decode, bodies):
            if _has_address(service):
                found[service.metadata.name] = service
    if master:
        found.setdefault(MASTER_NAME, _DECODER.decode(master))
    variables: dict[str, str] = {}
    async for named in pieces(sorted(found.items()), _AT_ONCE):
        for _, service in named:
            if _has_address(service) and service.spec.ports:
                variables |= _of_service(service)
    return variables


def _has_address(service: Service) -> bool:
    return service.spec.clusterIP not in ("", "None")


def _of_service(service: Service) -> dict[str, str]:
    name, address, ports = _variable(service.metadata.name), service.spec.clusterIP, service.spec.ports
    found = {f"{name}_SERVICE_HOST": address, f"{name}_SERVICE_PORT": str(ports[0].port)}
    found |= {f"{name}_SERVICE_PORT_{_variable(port.name)}": str(port.port) for port in ports if port.name}
    found[f"{name}_PORT"] = _url(address, ports[0])
    for port in ports:
        prefix = f"{name}_PORT_{port.port}_{port.protocol.upper()}"
        found[prefix] = _url(address, port)
        found[f"{prefix}_PROTO"] = port.protocol.lower()
        found[f"{prefix}_PORT"] = str(port.port)
        found[f"{prefix}_ADDR"] = address
    return found


def _url(address: str, port: _Port) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{port.protocol.lower()}://{host}:{port.port}"


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")
