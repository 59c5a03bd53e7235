"""The methods of CRI v1 that the agent calls: the path and the types of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from proto import cri_pb2 as cri
from proto.unread_list_pb2 import UnreadList

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True)
class Method(Generic[Request, Response]):
    """A method. `path`: as in the HTTP/2 request."""

    name: str
    path: str
    request: type[Request]
    response: type[Response]
    streams: bool
    """Whether it answers with a stream."""
    headers: tuple[tuple[str, str], ...] = ()
    """Metadata of each call."""


def _method(service: str, name: str, request: type[Request], response: type[Response]) -> Method[Request, Response]:
    described = cri.DESCRIPTOR.services_by_name[service].methods_by_name[name]
    return Method(name, f"/runtime.v1.{service}/{name}", request, response, bool(described.server_streaming))


def _unread(method: Method[Request, Any]) -> Method[Request, UnreadList]:
    """The same method; the items of its answer are not decoded."""
    return replace(method, response=UnreadList)


def _runtime(name: str, request: type[Request], response: type[Response]) -> Method[Request, Response]:
    return _method("RuntimeService", name, request, response)


def _image(name: str, request: type[Request], response: type[Response]) -> Method[Request, Response]:
    return _method("ImageService", name, request, response)


VERSION = _runtime("Version", cri.VersionRequest, cri.VersionResponse)
RUN_POD_SANDBOX = _runtime("RunPodSandbox", cri.RunPodSandboxRequest, cri.RunPodSandboxResponse)
STOP_POD_SANDBOX = _runtime("StopPodSandbox", cri.StopPodSandboxRequest, cri.StopPodSandboxResponse)
REMOVE_POD_SANDBOX = _runtime("RemovePodSandbox", cri.RemovePodSandboxRequest, cri.RemovePodSandboxResponse)
POD_SANDBOX_STATUS = _runtime("PodSandboxStatus", cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse)
LIST_POD_SANDBOX = _runtime("ListPodSandbox", cri.ListPodSandboxRequest, cri.ListPodSandboxResponse)
UNREAD_SANDBOXES = _unread(LIST_POD_SANDBOX)
CREATE_CONTAINER = _runtime("CreateContainer", cri.CreateContainerRequest, cri.CreateContainerResponse)
START_CONTAINER = _runtime("StartContainer", cri.StartContainerRequest, cri.StartContainerResponse)
STOP_CONTAINER = _runtime("StopContainer", cri.StopContainerRequest, cri.StopContainerResponse)
REMOVE_CONTAINER = _runtime("RemoveContainer", cri.RemoveContainerRequest, cri.RemoveContainerResponse)
LIST_CONTAINERS = _runtime("ListContainers", cri.ListContainersRequest, cri.ListContainersResponse)
UNREAD_CONTAINERS = _unread(LIST_CONTAINERS)
CONTAINER_STATUS = _runtime("ContainerStatus", cri.ContainerStatusRequest, cri.ContainerStatusResponse)
UPDATE_CONTAINER_RESOURCES = _runtime(
    "UpdateContainerResources", cri.UpdateContainerResourcesRequest, cri.UpdateContainerResourcesResponse
)
REOPEN_CONTAINER_LOG = _runtime("ReopenContainerLog", cri.ReopenContainerLogRequest, cri.ReopenContainerLogResponse)
EXEC_SYNC = _runtime("ExecSync", cri.ExecSyncRequest, cri.ExecSyncResponse)
EXEC = _runtime("Exec", cri.ExecRequest, cri.ExecResponse)
ATTACH = _runtime("Attach", cri.AttachRequest, cri.AttachResponse)
PORT_FORWARD = _runtime("PortForward", cri.PortForwardRequest, cri.PortForwardResponse)
CONTAINER_STATS = _runtime("ContainerStats", cri.ContainerStatsRequest, cri.ContainerStatsResponse)
LIST_CONTAINER_STATS = _runtime("ListContainerStats", cri.ListContainerStatsRequest, cri.ListContainerStatsResponse)
UPDATE_RUNTIME_CONFIG = _runtime("UpdateRuntimeConfig", cri.UpdateRuntimeConfigRequest, cri.UpdateRuntimeConfigResponse)
STATUS = _runtime("Status", cri.StatusRequest, cri.StatusResponse)
CHECKPOINT_CONTAINER = _runtime("CheckpointContainer", cri.CheckpointContainerRequest, cri.CheckpointContainerResponse)
GET_CONTAINER_EVENTS = _runtime("GetContainerEvents", cri.GetEventsRequest, cri.ContainerEventResponse)
RUNTIME_CONFIG = _runtime("RuntimeConfig", cri.RuntimeConfigRequest, cri.RuntimeConfigResponse)
UPDATE_POD_SANDBOX_RESOURCES = _runtime(
    "UpdatePodSandboxResources", cri.UpdatePodSandboxResourcesRequest, cri.UpdatePodSandboxResourcesResponse
)

LIST_IMAGES = _image("ListImages", cri.ListImagesRequest, cri.ListImagesResponse)
IMAGE_STATUS = _image("ImageStatus", cri.ImageStatusRequest, cri.ImageStatusResponse)
PULL_IMAGE = _image("PullImage", cri.PullImageRequest, cri.PullImageResponse)
REMOVE_IMAGE = _image("RemoveImage", cri.RemoveImageRequest, cri.RemoveImageResponse)
IMAGE_FS_INFO = _image("ImageFsInfo", cri.ImageFsInfoRequest, cri.ImageFsInfoResponse)
