"""The types of what nodes write, as the API has them (API reference)."""

from __future__ import annotations

from collections.abc import Callable

from .errors import StatusError
from .objects import Obj
from .wire import (
    Mismatch,
    Type,
    anything,
    data,
    each,
    flag,
    mapping,
    micro_time,
    number,
    quantity,
    struct,
    text,
    time,
    unknown_fields,
)

_OWNER = struct({"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": flag,
                 "blockOwnerDeletion": flag})  # fmt: skip
_META = struct({
    "name?": text, "generateName?": text, "namespace?": text, "selfLink?": text, "uid?": text,
    "resourceVersion?": text, "generation?": number, "creationTimestamp": time, "deletionTimestamp": time,
    "deletionGracePeriodSeconds": number, "labels?": mapping(text), "annotations?": mapping(text),
    "ownerReferences?": each(_OWNER), "finalizers?": each(text), "managedFields?": anything,
})  # fmt: skip
_AMOUNTS = mapping(quantity)
_RESOURCES = struct({"limits?": _AMOUNTS, "requests?": _AMOUNTS, "claims?": anything})


def _object(fields: dict[str, Type]) -> Type:
    return struct({"apiVersion": text, "kind": text, "metadata": _META, **fields})


# -- nodes ------------------------------------------------------------------------------------------------------------
_TAINT = struct({"key": text, "value?": text, "effect": text, "timeAdded": time})
_NODE_CONDITION = struct({"type": text, "status": text, "lastHeartbeatTime": time, "lastTransitionTime": time,
                          "reason?": text, "message?": text})  # fmt: skip
_INFO = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
         "kubeProxyVersion", "operatingSystem", "architecture")  # fmt: skip
_HANDLER = struct({"name?": text, "features": struct({"recursiveReadOnlyMounts": flag, "userNamespaces": flag})})
_NODE_STATUS = struct({
    "capacity?": _AMOUNTS, "allocatable?": _AMOUNTS, "phase?": text, "conditions?": each(_NODE_CONDITION),
    "addresses?": each(struct({"type": text, "address": text})),
    "daemonEndpoints": struct({"kubeletEndpoint": struct({"Port": number})}),
    "nodeInfo": struct({**dict.fromkeys(_INFO, text), "swap": struct({"capacity": number})}),
    "images?": each(struct({"names": each(text), "sizeBytes?": number})),
    "volumesInUse?": each(text), "volumesAttached?": each(struct({"name": text, "devicePath": text})),
    "config": anything, "runtimeHandlers?": each(_HANDLER), "declaredFeatures?": each(text),
    "features": struct({"supplementalGroupsPolicy": flag}),
})  # fmt: skip
_NODE = _object({
    "spec": struct({"podCIDR?": text, "podCIDRs?": each(text), "providerID?": text, "unschedulable?": flag,
                    "taints?": each(_TAINT), "configSource": anything, "externalID?": text}),
    "status": _NODE_STATUS,
})  # fmt: skip

# -- pods -------------------------------------------------------------------------------------------------------------
_POD_CONDITION = struct({"type": text, "status": text, "observedGeneration?": number, "lastProbeTime": time,
                         "lastTransitionTime": time, "reason?": text, "message?": text})  # fmt: skip
_STATE = struct({
    "waiting": struct({"reason?": text, "message?": text}),
    "running": struct({"startedAt": time}),
    "terminated": struct({"exitCode": number, "signal?": number, "reason?": text, "message?": text,
                          "startedAt": time, "finishedAt": time, "containerID?": text}),
})  # fmt: skip
_MOUNT = struct({"name": text, "mountPath": text, "readOnly?": flag, "recursiveReadOnly": text,
                 "volumeStatus": anything})  # fmt: skip
_CONTAINER_STATUS = struct({
    "name": text, "state": _STATE, "lastState": _STATE, "ready": flag, "restartCount": number, "image": text,
    "imageID": text, "containerID?": text, "started": flag, "allocatedResources?": _AMOUNTS, "resources": _RESOURCES,
    "volumeMounts?": each(_MOUNT), "allocatedResourcesStatus?": anything, "stopSignal": text,
    "user": struct({"linux": struct({"uid": number, "gid": number, "supplementalGroups?": each(number)})}),
})  # fmt: skip
_IPS = each(struct({"ip": text}))
_POD_STATUS = struct({
    "observedGeneration?": number, "phase?": text, "conditions?": each(_POD_CONDITION), "message?": text,
    "reason?": text, "nominatedNodeName?": text, "hostIP?": text, "hostIPs?": _IPS, "podIP?": text, "podIPs?": _IPS,
    "startTime": time, "initContainerStatuses?": each(_CONTAINER_STATUS), "qosClass?": text,
    "containerStatuses?": each(_CONTAINER_STATUS), "ephemeralContainerStatuses?": each(_CONTAINER_STATUS),
    "resize?": text, "resourceClaimStatuses?": anything, "extendedResourceClaimStatus": anything,
    "allocatedResources?": _AMOUNTS, "resources": _RESOURCES,
})  # fmt: skip
_CONTAINER = struct({"resources": _RESOURCES}, others=True)
_POD = _object({
    "spec": struct({"containers": each(_CONTAINER), "initContainers?": each(_CONTAINER), "overhead?": _AMOUNTS,
                    "resources": _RESOURCES}, others=True),
    "status": _POD_STATUS,
})  # fmt: skip

# -- what else nodes send ---------------------------------------------------------------------------------------------
_LEASE = _object({
    "spec": struct({"holderIdentity": text, "leaseDurationSeconds": number, "acquireTime": micro_time,
                    "renewTime": micro_time, "leaseTransitions": number, "strategy": text, "preferredHolder": text}),
})  # fmt: skip
_REFERENCE = struct({f"{name}?": text for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion",
                                                    "fieldPath")})  # fmt: skip
_EVENT = _object({
    "involvedObject": _REFERENCE, "reason?": text, "message?": text,
    "source": struct({"component?": text, "host?": text}), "firstTimestamp": time, "lastTimestamp": time,
    "count?": number, "type?": text, "eventTime": micro_time, "action?": text, "related": _REFERENCE,
    "series": struct({"count?": number, "lastObservedTime": micro_time}),
    "reportingComponent": text, "reportingInstance": text,
})  # fmt: skip
_SIGNING = _object({
    "spec": struct({"request": data, "signerName": text, "expirationSeconds": number, "usages?": each(text),
                    "username?": text, "uid?": text, "groups?": each(text), "extra?": mapping(each(text))}),
    "status": anything,
})  # fmt: skip
_TOKEN_REQUEST = _object({
    "spec": struct({"audiences": each(text), "expirationSeconds": number,
                    "boundObjectRef": struct({"kind?": text, "apiVersion?": text, "name?": text, "uid?": text})}),
    "status": anything,
})  # fmt: skip
_TOKEN_REVIEW = _object({"spec": struct({"token?": text, "audiences?": each(text)}), "status": anything})
_RESOURCE = struct({**{f"{name}?": text for name in ("namespace", "verb", "group", "version", "resource", "subresource",
                                                     "name")}, "fieldSelector": anything,
                    "labelSelector": anything})  # fmt: skip
_ACCESS_REVIEW = _object({
    "spec": struct({"resourceAttributes": _RESOURCE, "nonResourceAttributes": struct({"path?": text, "verb?": text}),
                    "user?": text, "groups?": each(text), "extra?": mapping(each(text)), "uid?": text}),
    "status": anything,
})  # fmt: skip
_DELETE_OPTIONS = struct({
    "apiVersion": text, "kind": text, "gracePeriodSeconds": number, "orphanDependents": flag,
    "preconditions": struct({"uid": text, "resourceVersion": text}), "propagationPolicy": text, "dryRun?": each(text),
    "ignoreStoreReadErrorWithClusterBreakingPotential": flag,
})  # fmt: skip

_KINDS: dict[str, Type] = {
    "Node": _NODE,
    "Pod": _POD,
    "Lease": _LEASE,
    "Event": _EVENT,
    "CertificateSigningRequest": _SIGNING,
    "TokenRequest": _TOKEN_REQUEST,
    "TokenReview": _TOKEN_REVIEW,
    "SubjectAccessReview": _ACCESS_REVIEW,
    "DeleteOptions": _DELETE_OPTIONS,
}


def typed(kind: str, obj: Obj, *, strict: bool, warn: Callable[[str], None] = lambda text: None) -> Obj:
    """As the server keeps it. Fields that there are not are left out and told to `warn`. Raises StatusError 400, for
    them only when `strict`."""
    read = _KINDS.get(kind)
    if read is None:
        return obj
    subject = f'{kind} in version "{obj.get("apiVersion", "v1").rpartition("/")[2]}" cannot be handled as a {kind}'
    with unknown_fields() as unknown:
        try:
            found: Obj = read(obj, kind)
        except Mismatch as error:
            raise StatusError(400, f"{subject}: json: {error}") from None
    texts = [f'unknown field "{path.removeprefix(f"{kind}.")}"' for path in unknown]
    if texts and strict:
        raise StatusError(400, f"{subject}: strict decoding error: {', '.join(texts)}")
    for unknown_field in texts:
        warn(unknown_field)
    return found
