"""The API's rules for a container beyond its shape (API reference, Container v1 core)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from actors.shared.kube import formats
from actors.shared.kube.container import (
    Container,
    ContainerPort,
    EnvVar,
    Lifecycle,
    ResourceRequirements,
    SecurityContext,
)
from actors.shared.kube.quantity import QuantityError, parse
from actors.shared.kube.volumes import Volume

from .field_check import FieldCheck
from .probe_rules import check_handler, check_probe

KINDS: Final = ("initContainers", "containers", "ephemeralContainers")
PULL_POLICIES: Final = ("Always", "Never", "IfNotPresent")
PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
PROPAGATIONS: Final = ("None", "HostToContainer", "Bidirectional")
PROFILES: Final = ("RuntimeDefault", "Unconfined", "Localhost")


def check_container(container: Container, kind: str, volumes: Mapping[str, Volume], check: FieldCheck) -> None:
    """`kind` is the name of the list that it is in."""
    check.at("name").form(formats.dns_label, container.name)
    if check.at("image").required(container.image) and container.image != container.image.strip():
        check.at("image").fail("must not begin or end with white space")
    check.at("imagePullPolicy").one_of(container.imagePullPolicy, PULL_POLICIES)
    check.at("terminationMessagePolicy").one_of(container.terminationMessagePolicy, MESSAGE_POLICIES)
    _check_restart(container, kind, check)
    for index, port in enumerate(container.ports):
        _check_port(port, check.at("ports").item(index))
    check.at("ports").unique(port.name for port in container.ports)
    for index, variable in enumerate(container.env):
        _check_env(variable, volumes, check.at("env").item(index))
    for index, source in enumerate(container.envFrom):
        given = [name for name in ("configMapRef", "secretRef") if getattr(source, name) is not None]
        check.at("envFrom").item(index).exactly_one(given, "one of configMapRef, secretRef")
    check_resources(container.resources, check.at("resources"))
    _check_mounts(container, volumes, check)
    _check_probes(container, kind, check)
    if container.securityContext is not None:
        _check_security(container.securityContext, check.at("securityContext"))


def _check_restart(container: Container, kind: str, check: FieldCheck) -> None:
    check.at("restartPolicy").one_of(container.restartPolicy, RESTART_POLICIES)
    if container.restartPolicyRules and not container.restartPolicy:
        check.at("restartPolicy").fail("required when restartPolicyRules are given")
    for index, rule in enumerate(container.restartPolicyRules):
        where = check.at("restartPolicyRules").item(index)
        where.at("action").one_of(rule.action, ("Restart", "RestartAllContainers"))
        if rule.exitCodes is None:
            where.at("exitCodes").fail("required")
        else:
            where.at("exitCodes.operator").one_of(rule.exitCodes.operator, ("In", "NotIn"))


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
    if source.fileKeyRef is not None and source.fileKeyRef.volumeName not in volumes:
        check.at("valueFrom.fileKeyRef.volumeName").fail(f"no volume {source.fileKeyRef.volumeName!r}")


def check_resources(resources: ResourceRequirements, check: FieldCheck) -> None:
    """Quantities are valid and not negative, and no request exceeds its limit."""
    values: dict[tuple[str, str], object] = {}
    for side in ("limits", "requests"):
        for resource, quantity in getattr(resources, side).items():
            where = check.at(side).item(resource)
            where.form(formats.qualified_name, resource)
            try:
                value = values[side, resource] = parse(quantity)
            except QuantityError:
                where.fail(f"{str(quantity)[:40]!r} is not a quantity, like 100m, 1.5 or 64Mi")
                continue
            if value < 0:
                where.fail("must not be negative")
    for resource in resources.requests:
        request, limit = values.get(("requests", resource)), values.get(("limits", resource))
        if request is not None and limit is not None and request > limit:  # type: ignore[operator]
            check.at("requests").item(resource).fail(f"is above the limit {resources.limits[resource]}")


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
        privileged = container.securityContext is not None and container.securityContext.privileged
        if mount.mountPropagation == "Bidirectional" and not privileged:
            where.at("mountPropagation").fail("Bidirectional needs a privileged container")
    for index, device in enumerate(container.volumeDevices):
        if device.name not in volumes:
            check.at("volumeDevices").item(index).at("name").fail(f"no volume {device.name!r}")


def _check_probes(container: Container, kind: str, check: FieldCheck) -> None:
    runs = kind == "containers" or (kind == "initContainers" and container.restartPolicy == "Always")
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
        check_profile(getattr(context, name), check.at(name))
    if context.allowPrivilegeEscalation is False:
        added = context.capabilities.add if context.capabilities else []
        if context.privileged or any(name.upper().removeprefix("CAP_") == "SYS_ADMIN" for name in added):
            check.at("allowPrivilegeEscalation").fail("cannot be false for a privileged or CAP_SYS_ADMIN container")


def check_ids(context: object, fields: Collection[str], check: FieldCheck) -> None:
    for field in fields:
        check.at(field).between(getattr(context, field), 0, (1 << 31) - 1)


def check_profile(profile: object, check: FieldCheck) -> None:
    """A seccomp or AppArmor profile: a local one has a name, others have none."""
    if profile is None:
        return
    kind, name = getattr(profile, "type", ""), getattr(profile, "localhostProfile", None)
    check.at("type").one_of(kind, PROFILES)
    if kind == "Localhost" and not (name or "").strip():
        check.at("localhostProfile").fail("required when type is Localhost")
    elif kind != "Localhost" and name:
        check.at("localhostProfile").fail("only when type is Localhost")
    if name:
        check.at("localhostProfile").form(formats.inside_path, name)
