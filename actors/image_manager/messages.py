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
    """From a worker before a container is created. Answered with ImageReady or ImageFailed when the pull has ended,
    which may take many minutes. A repeated question joins the same pull."""

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
    """The container's field path in the pod, for events: `spec.containers{name}`; '' for the image of a volume."""
    service_account: str = ""
    """The pod's service account, for credential plug-ins; '' for a static pod."""
    traceparent: str = ""
    """The parent span of the pull; '' for none."""
    annotations: dict[str, str] = {}
    """The pod's annotations: some runtimes read them for a pull."""


class ImageReady(Message, frozen=True):
    image: str
    image_ref: str
    """The image reference for CreateContainer."""
    size_bytes: int = 0
    user_uid: int | None = None
    """User of the image, if it is a number."""
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
    """Text of the event about the image; empty: `message`."""


class GetPendingImages(Question["PendingImages"], frozen=True):
    """From the command line. Answered with PendingImages."""

    uid: str
    """The UID of a pod."""


class PendingImage(msgspec.Struct, frozen=True):
    """An image whose pull a pod waits for."""

    name: str
    since: float
    """Since when, in seconds since 1970."""
    before: int | None = None
    """How many pulls come before it; None: it runs."""


class PendingImages(Message, frozen=True):
    """The images that the pod waits for, the oldest first."""

    images: list[PendingImage]


class GetImageFilesystem(Question["ImageFilesystem"], frozen=True):
    """Answered with ImageFilesystem."""


class ImageFilesystem(Message, frozen=True):
    mountpoint: str
    """The runtime's image directory; '' if it does not report it."""
    containers: str = ""
    """Its directory of writable layers; '' if it does not report it, or if it is the same."""


class RemoveUnusedImages(Question["UnusedImagesRemoved"], frozen=True):
    """From eviction_manager: the disk is full. Answered with UnusedImagesRemoved."""


class UnusedImagesRemoved(Message, frozen=True):
    problem: str = ""
    """Why some stay; '' if none does."""


class GetImages(Question["NodeImages"], frozen=True):
    """Answered with NodeImages."""


class NodeImage(msgspec.Struct, frozen=True):
    names: list[str]
    size_bytes: int


class NodeImages(Message, frozen=True):
    """The images, largest first."""

    images: list[NodeImage]
