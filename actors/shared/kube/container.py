"""Containers: image, environment, ports, resources, security context. Probes and hooks: `handlers.py`."""

from __future__ import annotations

from .handlers import Lifecycle, Probe
from .meta import (
    Api,
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
