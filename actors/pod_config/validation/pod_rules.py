"""The API's rules for a pod beyond its shape (API reference, Pod v1 core), and the rules for static pods."""

from __future__ import annotations

from collections.abc import Iterator

from actors.shared.kube import formats
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod, PodSpec

from . import volume_rules
from .container_rules import KINDS, RESTART_POLICIES, check_container, check_ids, check_profile
from .errors import FieldError
from .field_check import FieldCheck
from .resource_rules import check_pod_resources, check_quantities, check_resize_policies, check_resources
from .scheduling_rules import check_scheduling

MAX_GRACE = (1 << 31) - 1
FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")
"""The finalizers without a prefix (API reference, ObjectMeta v1 meta)."""


def pod_errors(pod: Pod) -> list[FieldError]:
    """All errors that API validation would report, in the order of the document."""
    check = FieldCheck()
    if pod.apiVersion != "v1":
        check.at("apiVersion").fail(f"must be 'v1', not {pod.apiVersion[:40]!r}")
    if pod.kind != "Pod":
        check.at("kind").fail(f"must be 'Pod', not {pod.kind[:40]!r}")
    _check_metadata(pod, check.at("metadata"))
    _check_spec(pod.spec, check.at("spec"))
    check_pod_resources(pod, check.at("spec"))
    return check.errors


def _check_metadata(pod: Pod, check: FieldCheck) -> None:
    meta = pod.metadata
    if check.at("name").required(meta.name):
        check.at("name").form(formats.dns_subdomain, meta.name)
    if meta.namespace:
        check.at("namespace").form(formats.dns_label, meta.namespace)
    if meta.uid and (len(meta.uid) > 128 or not all(char.isalnum() or char in "-_" for char in meta.uid)):
        # the UID becomes the name of a directory and of cgroups
        check.at("uid").fail("must be letters, digits, '-' and '_', at most 128")
    for key, value in meta.labels.items():
        check.at("labels").item(key).form(formats.qualified_name, key)
        check.at("labels").item(key).form(formats.label_value, value)
    for key in meta.annotations:
        check.at("annotations").item(key).form(lambda text: formats.qualified_name(text.lower()), key)
    for index, name in enumerate(meta.finalizers):
        where = check.at("finalizers").item(index)
        where.form(formats.qualified_name, name)
        if "/" not in name and name not in FINALIZERS:
            where.fail(f"{name[:60]!r} needs a prefix, as example.com/name")
    if sum(len(key) + len(value) for key, value in meta.annotations.items()) > 256 << 10:
        check.at("annotations").fail("more than 256 KiB in total")


def _check_spec(spec: PodSpec, check: FieldCheck) -> None:
    check.at("containers").required(spec.containers)
    volumes = {volume.name: volume for volume in spec.volumes}
    check.at("volumes").unique(volume.name for volume in spec.volumes)
    for index, volume in enumerate(spec.volumes):
        volume_rules.check_volume(volume, check.at("volumes").item(index))
    seen: set[str] = set()
    for kind in KINDS:
        for index, container in enumerate(getattr(spec, kind)):
            where = check.at(kind).item(index)
            if container.name in seen:
                where.at("name").fail(f"duplicate: {container.name!r}")
            seen.add(container.name)
            check_container(container, kind, volumes, where)
            check_resize_policies(container, spec.restartPolicy != "Never", where)
            _check_with_pod(container, spec, where)
    _check_host(spec, check)
    _check_policies(spec, check)
    _check_dns(spec, check)
    _check_pod_security(spec, check.at("securityContext"))
    for field in ("hostname", "subdomain"):
        if value := getattr(spec, field):
            check.at(field).form(formats.dns_label, value)
    for index, alias in enumerate(spec.hostAliases):
        where = check.at("hostAliases").item(index)
        where.at("ip").form(formats.ip_address, alias.ip)
        for place, name in enumerate(alias.hostnames):
            where.at("hostnames").item(place).form(formats.dns_subdomain, name)
    check_scheduling(spec, check)
    if spec.runtimeClassName is not None:
        check.at("runtimeClassName").form(formats.dns_subdomain, spec.runtimeClassName)
    check_quantities(spec.overhead, check.at("overhead"))


def _check_with_pod(container: Container, spec: PodSpec, check: FieldCheck) -> None:
    """Rules for a container that depend on its pod."""
    context, grace = container.securityContext, spec.terminationGracePeriodSeconds
    if context is not None and context.procMount == "Unmasked" and spec.hostUsers is not False:
        check.at("securityContext.procMount").fail("Unmasked needs hostUsers: false in the pod")
    for hook in ("postStart", "preStop"):
        handler = getattr(container.lifecycle, hook, None)
        if handler is not None and handler.sleep is not None and grace is not None and handler.sleep.seconds > grace:
            where = check.at("lifecycle").at(hook).at("sleep.seconds")
            where.fail(f"{handler.sleep.seconds} is above terminationGracePeriodSeconds, {grace}")


def _check_host(spec: PodSpec, check: FieldCheck) -> None:
    """Host ports are unique, and with hostNetwork equal to the container ports."""
    seen: set[tuple[str, str, int]] = set()
    for index, container in enumerate(spec.containers):
        for place, port in enumerate(container.ports):
            where = check.at("containers").item(index).at("ports").item(place).at("hostPort")
            if spec.hostNetwork and port.hostPort not in (0, port.containerPort):
                where.fail("must be the containerPort when hostNetwork is set")
            key = (port.hostIP, port.protocol, port.hostPort)
            if port.hostPort and key in seen:
                where.fail(f"duplicate: {port.hostPort}/{port.protocol}")
            seen.add(key)
    if spec.shareProcessNamespace and spec.hostPID:
        check.at("shareProcessNamespace").fail("cannot be given together with hostPID")
    if spec.hostUsers is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if getattr(spec, field):
                check.at(field).fail("cannot be given together with hostUsers: false")


def _check_policies(spec: PodSpec, check: FieldCheck) -> None:
    check.at("restartPolicy").one_of(spec.restartPolicy, RESTART_POLICIES)
    check.at("preemptionPolicy").one_of(spec.preemptionPolicy, ("Never", "PreemptLowerPriority"))
    check.at("terminationGracePeriodSeconds").between(spec.terminationGracePeriodSeconds, 0, MAX_GRACE)
    check.at("activeDeadlineSeconds").between(spec.activeDeadlineSeconds, 1, MAX_GRACE)
    if spec.os is not None and check.at("os.name").required(spec.os.name):
        check.at("os.name").one_of(spec.os.name, ("linux", "windows"))
    if spec.resources is not None:
        check_resources(spec.resources, check.at("resources"))


def _check_dns(spec: PodSpec, check: FieldCheck) -> None:
    check.at("dnsPolicy").one_of(spec.dnsPolicy, ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"))
    servers = spec.dnsConfig.nameservers if spec.dnsConfig else []
    for index, server in enumerate(servers):
        check.at("dnsConfig.nameservers").item(index).form(formats.ip_address, server)
    config = spec.dnsConfig
    for index, domain in enumerate(config.searches if config else []):
        if domain != ".":  # the root; a name may have a dot at its end, and underscores (KEP-4427)
            name = domain.removesuffix(".").replace("_", "a")
            check.at("dnsConfig.searches").item(index).form(formats.dns_subdomain, name)
    for index, option in enumerate(config.options if config else []):
        check.at("dnsConfig.options").item(index).at("name").required(option.name)
    if spec.dnsPolicy == "None" and not servers:
        check.at("dnsConfig.nameservers").fail("required when dnsPolicy is None")


def _check_pod_security(spec: PodSpec, check: FieldCheck) -> None:
    context = spec.securityContext
    check_ids(context, ("runAsUser", "runAsGroup", "fsGroup"), check)
    for index, group in enumerate(context.supplementalGroups):
        check.at("supplementalGroups").item(index).between(group, 0, (1 << 31) - 1)
    check.at("fsGroupChangePolicy").one_of(context.fsGroupChangePolicy, ("Always", "OnRootMismatch"))
    check.at("supplementalGroupsPolicy").one_of(context.supplementalGroupsPolicy, ("Merge", "Strict"))
    check.at("seLinuxChangePolicy").one_of(context.seLinuxChangePolicy, ("MountOption", "Recursive"))
    check.at("sysctls").unique(sysctl.name for sysctl in context.sysctls)
    for index, sysctl in enumerate(context.sysctls):
        check.at("sysctls").item(index).at("name").form(formats.sysctl_name, sysctl.name)
    for name in ("seccompProfile", "appArmorProfile"):
        check_profile(getattr(context, name), check.at(name), is_file=name == "seccompProfile")


# -- static pods ------------------------------------------------------------------------------------------------------


def reference_errors(pod: Pod) -> list[FieldError]:
    """An error for each reference of a static pod to an API object (gate PreventStaticPodAPIReferences)."""
    return [FieldError(path, "a static pod may not refer to objects of the API server") for path in _references(pod)]


def always_refused(pod: Pod) -> list[FieldError]:
    """An error for each reference that a static pod has under no gate."""
    found = []
    if bytes(pod.spec.resourceClaims) not in (b"", b"[]"):
        found.append(FieldError("spec.resourceClaims", "static pods may not use ResourceClaims"))
    for index, volume in enumerate(pod.spec.volumes):
        for place, source in enumerate(volume.projected.sources if volume.projected is not None else ()):
            if source.clusterTrustBundle is not None:
                path = f"spec.volumes[{index}].projected.sources[{place}].clusterTrustBundle"
                text = "static pods may not use ClusterTrustBundle projected volume sources"
                found.append(FieldError(path, text))
    return found


def _references(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    if spec.serviceAccountName or spec.serviceAccount:
        yield "spec.serviceAccountName"
    if spec.imagePullSecrets:
        yield "spec.imagePullSecrets"
    if bytes(spec.resourceClaims) not in (b"", b"[]"):
        yield "spec.resourceClaims"
    for index, volume in enumerate(spec.volumes):
        yield from volume_rules.references(volume, f"spec.volumes[{index}]")
    for kind in KINDS:
        for index, container in enumerate(getattr(spec, kind)):
            yield from _container_references(container, f"spec.{kind}[{index}]")


def _container_references(container: Container, path: str) -> Iterator[str]:
    for index, source in enumerate(container.envFrom):
        for name in ("configMapRef", "secretRef"):
            if getattr(source, name) is not None:
                yield f"{path}.envFrom[{index}].{name}"
    for index, variable in enumerate(container.env):
        for name in ("configMapKeyRef", "secretKeyRef"):
            if variable.valueFrom is not None and getattr(variable.valueFrom, name) is not None:
                yield f"{path}.env[{index}].valueFrom.{name}"
