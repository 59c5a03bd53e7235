"""Containers: image, environment, ports, probes, hooks, resources, security context."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from . import formats
from .meta import (
    Api,
    IntOrString,
    LocalObjectReference,
    ObjectFieldSelector,
    Quantity,
    ResourceFieldSelector,
    SecretKeySelector,
)


class ContainerPort(Api, frozen=True):
    containerPort: int
    name: str = ""
    hostPort: int = 0
    protocol: str = "TCP"
    hostIP: str = ""


class FileKeySelector(Api, frozen=True):
    volumeName: str
    path: str
    key: str
    optional: bool | None = None


class EnvVarSource(Api, frozen=True):
    fieldRef: ObjectFieldSelector | None = None
    resourceFieldRef: ResourceFieldSelector | None = None
    configMapKeyRef: SecretKeySelector | None = None
    secretKeyRef: SecretKeySelector | None = None
    fileKeyRef: FileKeySelector | None = None


class EnvVar(Api, frozen=True):
    name: str
    value: str = ""
    valueFrom: EnvVarSource | None = None


class EnvFromRef(LocalObjectReference, frozen=True):
    optional: bool | None = None


class EnvFromSource(Api, frozen=True):
    prefix: str = ""
    configMapRef: EnvFromRef | None = None
    secretRef: EnvFromRef | None = None


class ResourceClaimUse(Api, frozen=True):
    name: str
    request: str = ""


class ResourceRequirements(Api, frozen=True):
    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}
    claims: list[ResourceClaimUse] = []


class ContainerResizePolicy(Api, frozen=True):
    resourceName: str
    restartPolicy: str


class ExitCodes(Api, frozen=True):
    operator: str
    values: list[int] = []


class ContainerRestartRule(Api, frozen=True):
    action: str
    exitCodes: ExitCodes | None = None


class VolumeMount(Api, frozen=True):
    name: str
    mountPath: str
    readOnly: bool = False
    recursiveReadOnly: str | None = None
    subPath: str = ""
    subPathExpr: str = ""
    mountPropagation: str | None = None


class VolumeDevice(Api, frozen=True):
    name: str
    devicePath: str


Problem = tuple[str, str]
"""A field of an action, and the broken rule of the API."""


class Action(Api, frozen=True):
    """Base of the actions of probes and lifecycle hooks."""

    def problems(self, ports: Collection[str]) -> Iterable[Problem]:
        """The rules of API validation that it breaks (API reference, Probe v1 core). `ports`: names of the container's
        ports."""
        return ()


class ExecAction(Action, frozen=True):
    command: list[str] = []

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        if not self.command:
            yield "command", "required"


class HTTPHeader(Api, frozen=True):
    name: str
    value: str = ""


class HTTPGetAction(Action, frozen=True):
    port: IntOrString
    path: str = ""
    host: str = ""
    scheme: str = "HTTP"
    httpHeaders: list[HTTPHeader] = []

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        yield from _port_problems(self.port, ports)
        if self.scheme not in ("", "HTTP", "HTTPS"):
            yield "scheme", f"{self.scheme[:60]!r} is not one of HTTP, HTTPS"
        for index, header in enumerate(self.httpHeaders):
            if wrong := formats.header_name(header.name):
                yield f"httpHeaders[{index}].name", wrong


class TCPSocketAction(Action, frozen=True):
    port: IntOrString
    host: str = ""

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        yield from _port_problems(self.port, ports)


class GRPCAction(Action, frozen=True):
    port: int
    service: str | None = None

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        yield from _port_problems(self.port, ports)


class SleepAction(Action, frozen=True):
    seconds: int

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        if self.seconds < 0:
            yield "seconds", f"{self.seconds} is not at least 0"


def _port_problems(port: IntOrString, ports: Collection[str]) -> Iterator[Problem]:
    wrong = ""
    if isinstance(port, int):
        wrong = formats.port_number(port)
    elif not port.isdigit() and port not in ports:
        wrong = formats.port_name(port)
    if wrong:
        yield "port", wrong


class ProbeHandler(Api, frozen=True):
    """Exactly one is set. A probe type for each is in `actors/prober/`."""

    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None


class Probe(ProbeHandler, frozen=True):
    """Times are whole seconds; defaults are those the API server fills in."""

    initialDelaySeconds: int = 0
    timeoutSeconds: int = 1
    periodSeconds: int = 10
    successThreshold: int = 1
    failureThreshold: int = 3
    terminationGracePeriodSeconds: int | None = None


class LifecycleHandler(Api, frozen=True):
    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Api, frozen=True):
    postStart: LifecycleHandler | None = None
    preStop: LifecycleHandler | None = None
    stopSignal: str | None = None


class Capabilities(Api, frozen=True):
    add: list[str] = []
    drop: list[str] = []


class SELinuxOptions(Api, frozen=True):
    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class SeccompProfile(Api, frozen=True):
    """Also the shape of an AppArmor profile."""

    type: str
    localhostProfile: str | None = None


class SecurityContext(Api, frozen=True):
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    seLinuxOptions: SELinuxOptions | None = None
    windowsOptions: dict[str, str | bool] | None = None
    runAsUser: int | None = None
    runAsGroup: int | None = None
    runAsNonRoot: bool | None = None
    readOnlyRootFilesystem: bool | None = None
    allowPrivilegeEscalation: bool | None = None
    procMount: str | None = None
    seccompProfile: SeccompProfile | None = None
    appArmorProfile: SeccompProfile | None = None


class Container(Api, frozen=True):
    """A regular, init, sidecar (init with restartPolicy Always) or ephemeral container."""

    name: str
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    workingDir: str = ""
    ports: list[ContainerPort] = []
    envFrom: list[EnvFromSource] = []
    env: list[EnvVar] = []
    resources: ResourceRequirements = ResourceRequirements()
    resizePolicy: list[ContainerResizePolicy] = []
    restartPolicy: str | None = None
    restartPolicyRules: list[ContainerRestartRule] = []
    volumeMounts: list[VolumeMount] = []
    volumeDevices: list[VolumeDevice] = []
    livenessProbe: Probe | None = None
    readinessProbe: Probe | None = None
    startupProbe: Probe | None = None
    lifecycle: Lifecycle | None = None
    terminationMessagePath: str = "/dev/termination-log"
    terminationMessagePolicy: str = "File"
    imagePullPolicy: str = ""
    securityContext: SecurityContext | None = None
    stdin: bool = False
    stdinOnce: bool = False
    tty: bool = False
    targetContainerName: str = ""
    """Ephemeral containers only."""
