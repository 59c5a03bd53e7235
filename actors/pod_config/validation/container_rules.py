"""The API's rules for a container beyond its shape (API reference, Container v1 core)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from actors.shared.kube import formats
from actors.shared.kube.container import Container, ContainerPort, EnvVar, SecurityContext
from actors.shared.kube.handlers import Lifecycle
from actors.shared.kube.pods import is_sidecar
from actors.shared.kube.volumes import PULL_POLICIES, Volume

from .field_check import FieldCheck
from .field_references import OF_VARIABLES, check_field, check_resource
from .probe_rules import check_handler, check_probe
from .resource_rules import check_container_resources

KINDS: Final = ("initContainers", "containers", "ephemeralContainers")
PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
PROPAGATIONS: Final = ("None", "HostToContainer", "Bidirectional")
PROFILES: Final = ("RuntimeDefault", "Unconfined", "Localhost")


def check_container(container: Container, kind: str, volumes: Mapping[str, Volume], check: FieldCheck) -> None:
    """`kind` is the name of the container's list."""
    check.at("name").form(formats.dns_label, container.name)
    if check.at("image").required(container.image) and container.image != container.image.strip():
        check.at("image").fail("must not begin or end with white space")
    check.at("imagePullPolicy").one_of(container.imagePullPolicy, PULL_POLICIES)
    check.at("terminationMessagePolicy").one_of(container.terminationMessagePolicy, MESSAGE_POLICIES)
    _check_restart(container, check)
    for index, port in enumerate(container.ports):
        _check_port(port, check.at("ports").item(index))
    check.at("ports").unique(port.name for port in container.ports)
    for index, variable in enumerate(container.env):
        _check_env(variable, volumes, check.at("env").item(index))
    for index, source in enumerate(container.envFrom):
        given = [name for name in ("configMapRef", "secretRef") if getattr(source, name) is not None]
        check.at("envFrom").item(index).exactly_one(given, "one of configMapRef, secretRef")
    check_container_resources(container.resources, check.at("resources"))
    _check_mounts(container, volumes, check)
    _check_probes(container, kind, check)
    if container.securityContext is not None:
        _check_security(container.securityContext, check.at("securityContext"))


def _check_restart(container: Container, check: FieldCheck) -> None:
    check.at("restartPolicy").one_of(container.restartPolicy, RESTART_POLICIES)
    if container.restartPolicyRules and not container.restartPolicy:
        check.at("restartPolicy").fail("required when restartPolicyRules are given")
    for index, rule in enumerate(container.restartPolicyRules):
        where = check.at("restartPolicyRules").item(index)
        if where.at("action").required(rule.action):
            where.at("action").one_of(rule.action, ("Restart", "RestartAllContainers"))
        if rule.exitCodes is None:
            where.at("exitCodes").fail("required")
            continue
        if where.at("exitCodes.operator").required(rule.exitCodes.operator):
            where.at("exitCodes.operator").one_of(rule.exitCodes.operator, ("In", "NotIn"))
        for place, code in enumerate(rule.exitCodes.values):
            where.at("exitCodes.values").item(place).between(code, -(1 << 31), (1 << 31) - 1)


def _check_port(port: ContainerPort, check: FieldCheck) -> None:
    check.at("containerPort").form(formats.port_number, port.containerPort)
    if port.hostPort:
        check.at("hostPort").form(formats.port_number, port.hostPort)
    check.at("protocol").one_of(port.protocol, PROTOCOLS)
    if port.name:
        check.at("name").form(formats.port_name, port.name)
    if port.hostIP:
        check.at("hostIP").form(formats.ip_address, port.hostIP)


def _check_env(variable: EnvVar, volumes: Mapping[str, Volume], check: FieldCheck) -> None:
    check.at("name").form(formats.env_name, variable.name)
    source = variable.valueFrom
    if source is None:
        return
    if variable.value:
        check.at("valueFrom").fail("cannot be given together with value")
    names = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
    given = [name for name in names if getattr(source, name) is not None]
    check.at("valueFrom").exactly_one(given, f"one of {', '.join(names)}")
    if source.fieldRef is not None:
        check_field(source.fieldRef, OF_VARIABLES, check.at("valueFrom.fieldRef"))
    if source.resourceFieldRef is not None:
        check_resource(source.resourceFieldRef, check.at("valueFrom.resourceFieldRef"), container_needed=False)
    if source.fileKeyRef is not None and source.fileKeyRef.volumeName not in volumes:
        check.at("valueFrom.fileKeyRef.volumeName").fail(f"no volume {source.fileKeyRef.volumeName!r}")


def _check_mounts(container: Container, volumes: Mapping[str, Volume], check: FieldCheck) -> None:
    paths = [mount.mountPath for mount in container.volumeMounts]
    check.at("volumeMounts").unique(paths, "mountPath")
    for index, mount in enumerate(container.volumeMounts):
        where = check.at("volumeMounts").item(index)
        if where.at("name").required(mount.name) and mount.name not in volumes:
            where.at("name").fail(f"no volume {mount.name!r}")
        where.at("mountPath").required(mount.mountPath)
        if mount.subPath and mount.subPathExpr:
            where.at("subPathExpr").fail("cannot be given together with subPath")
        for field in ("subPath", "subPathExpr"):
            where.at(field).form(formats.inside_path, getattr(mount, field))
        where.at("mountPropagation").one_of(mount.mountPropagation, PROPAGATIONS)
        where.at("recursiveReadOnly").one_of(mount.recursiveReadOnly, ("Disabled", "IfPossible", "Enabled"))
        if mount.recursiveReadOnly in ("IfPossible", "Enabled"):
            if not mount.readOnly:
                where.at("recursiveReadOnly").fail(f"{mount.recursiveReadOnly} needs readOnly")
            if mount.mountPropagation not in (None, "", "None"):
                where.at("recursiveReadOnly").fail(f"{mount.recursiveReadOnly} needs mountPropagation None")
        privileged = container.securityContext is not None and container.securityContext.privileged
        if mount.mountPropagation == "Bidirectional" and not privileged:
            where.at("mountPropagation").fail("Bidirectional needs a privileged container")
    for index, device in enumerate(container.volumeDevices):
        if device.name not in volumes:
            check.at("volumeDevices").item(index).at("name").fail(f"no volume {device.name!r}")


def _check_probes(container: Container, kind: str, check: FieldCheck) -> None:
    runs = kind == "containers" or (kind == "initContainers" and is_sidecar(container))
    for name in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
        given = getattr(container, name)
        if given is None:
            continue
        if not runs:
            check.at(name).fail("only regular containers and sidecars may have it")
        elif isinstance(given, Lifecycle):
            for hook in ("postStart", "preStop"):
                if (handler := getattr(given, hook)) is not None:
                    check_handler(handler, container, check.at(name).at(hook))
        else:
            check_probe(given, name, container, check.at(name))


def _check_security(context: SecurityContext, check: FieldCheck) -> None:
    check.at("procMount").one_of(context.procMount, ("Default", "Unmasked"))
    check_ids(context, ("runAsUser", "runAsGroup"), check)
    for name in ("seccompProfile", "appArmorProfile"):
        check_profile(getattr(context, name), check.at(name), is_file=name == "seccompProfile")
    if context.allowPrivilegeEscalation is False:
        added = context.capabilities.add if context.capabilities else []
        if context.privileged or "CAP_SYS_ADMIN" in added:
            check.at("allowPrivilegeEscalation").fail("cannot be false for a privileged or CAP_SYS_ADMIN container")


def check_ids(context: object, fields: Collection[str], check: FieldCheck) -> None:
    for field in fields:
        check.at(field).between(getattr(context, field), 0, (1 << 31) - 1)


def check_profile(profile: object, check: FieldCheck, *, is_file: bool) -> None:
    """A seccomp or AppArmor profile: a local one has a name, others have none. `is_file`: the name is that of a file
    below a directory; an AppArmor profile is often named by the path of a program.
    """
    if profile is None:
        return
    kind, name = getattr(profile, "type", ""), getattr(profile, "localhostProfile", None)
    if check.at("type").required(kind):
        check.at("type").one_of(kind, PROFILES)
    if kind == "Localhost" and not (name or "").strip():
        check.at("localhostProfile").fail("required when type is Localhost")
    elif kind not in ("", "Localhost") and name:
        check.at("localhostProfile").fail("only when type is Localhost")
    if name and is_file:
        check.at("localhostProfile").form(formats.inside_path, name)
