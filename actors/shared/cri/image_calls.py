"""The image service's calls."""

from __future__ import annotations

from proto import cri_pb2 as cri

from . import conversion, methods, stats_conversion
from .deadlines import Deadlines
from .model import Image
from .stats import ImageFileSystems
from .transport import Transport


class ImageCalls:
    """Images on the node. Every call may raise a CriError."""

    _images: Transport
    _deadlines: Deadlines

    async def list_images(self) -> list[Image]:
        answer = await self._images.call(methods.LIST_IMAGES, cri.ListImagesRequest(), self._deadlines.request)
        return [conversion.image_of(image) for image in answer.images]

    async def image_status(self, image: str, runtime_handler: str = "") -> Image | None:
        """The image's status; None when it is not on the node. `image`: a name, a digest or an ID."""
        spec = cri.ImageSpec(image=image, runtime_handler=runtime_handler)
        request = cri.ImageStatusRequest(image=spec)
        answer = await self._images.call(methods.IMAGE_STATUS, request, self._deadlines.request)
        return conversion.image_of(answer.image) if answer.HasField("image") else None

    async def pull_image(
        self,
        spec: cri.ImageSpec,
        auth: cri.AuthConfig | None = None,
        sandbox_config: cri.PodSandboxConfig | None = None,
    ) -> str:
        """Pull the image. Returns the reference for create_container. No deadline."""
        request = cri.PullImageRequest(image=spec, auth=auth, sandbox_config=sandbox_config)
        answer = await self._images.call(methods.PULL_IMAGE, request, self._deadlines.pull_image)
        return answer.image_ref

    async def remove_image(self, image: str) -> None:
        """Remove the image with all its names. No error if it does not exist or a container uses it."""
        request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image))
        await self._images.call(methods.REMOVE_IMAGE, request, self._deadlines.request)

    async def image_fs_info(self) -> ImageFileSystems:
        answer = await self._images.call(methods.IMAGE_FS_INFO, cri.ImageFsInfoRequest(), self._deadlines.request)
        return stats_conversion.image_file_systems(answer)
