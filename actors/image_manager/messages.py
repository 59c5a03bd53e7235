"""Messages to the image manager, and its answers."""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

IMAGE_MANAGER: Final = ActorName("image_manager")


class PullSecret(msgspec.Struct, frozen=True):
    """A secret of the pod's imagePullSecrets, in the pod's namespace."""

    uid: str
    name: str
    document: bytes
    """.dockerconfigjson or .dockercfg content."""


class EnsureImage(Question["ImageReady | ImageFailed"], frozen=True):
    """From a worker before a container is created. Answered with ImageReady or ImageFailed, when the pull has ended:
    that may take many minutes. Asked again meanwhile, the same pull is joined."""

    uid: str
    namespace: str
    pod_name: str
    container: str
    image: str
    policy: str
    """Always, IfNotPresent, Never; '' is Always for tag latest and no tag, else IfNotPresent."""
    runtime_handler: str = ""
    pull_secrets: list[PullSecret] = []
    field: str = ""
    """Where in the pod the container is, for events: `spec.containers{name}`."""
    service_account: str = ""
    """Of the pod, for credential plug-ins; '' for a static pod."""
    traceparent: str = ""
    """The span that the pull belongs to; '' for none."""
    annotations: dict[str, str] = {}
    """Of the pod: some runtimes read them when they pull."""


class ImageReady(Message, frozen=True):
    image: str
    image_ref: str
    """What CreateContainer is given."""
    size_bytes: int = 0
    user_uid: int | None = None
    """User of the image, when it is a number."""
    username: str = ""
    pulled: bool = False


class ImageFailed(Message, frozen=True):
    """`reason` is the waiting reason: ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName,
    ImageInspectError, RegistryUnavailable, SignatureValidationFailed."""

    image: str
    reason: str
    message: str
    retry_seconds: float = 0.0
    event: str = ""
    """Text of the event that says what happened to the image; empty: `message`."""


class GetImageFilesystem(Question["ImageFilesystem"], frozen=True):
    """Answered with ImageFilesystem."""


class ImageFilesystem(Message, frozen=True):
    mountpoint: str
    """Where the runtime keeps images; '' when it does not say."""
    containers: str = ""
    """Where it keeps writable layers; '' when it does not say, or with the images."""


class RemoveUnusedImages(Question["UnusedImagesRemoved"], frozen=True):
    """From eviction_manager: the disk is full. Answered with UnusedImagesRemoved."""


class UnusedImagesRemoved(Message, frozen=True):
    problem: str = ""
    """Why some stay; '' when none does."""


class GetImages(Question["NodeImages"], frozen=True):
    """Answered with NodeImages."""


class NodeImage(msgspec.Struct, frozen=True):
    names: list[str]
    size_bytes: int


class NodeImages(Message, frozen=True):
    """Biggest first."""

    images: list[NodeImage]
