"""Images of the fake."""

from __future__ import annotations

from proto import cri_pb2 as cri

from .images import Images
from .world import World


class ImageService:
    """Each `do_<Method>` answers that method."""

    images: Images
    world: World

    async def do_ListImages(self, request: cri.ListImagesRequest) -> cri.ListImagesResponse:
        return cri.ListImagesResponse(images=[self.images.described(name) for name in self.images.here])

    async def do_ImageStatus(self, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
        found = self.images.find(request.image.image)
        info = {"info": self.images.info} if request.verbose else {}
        return cri.ImageStatusResponse(image=self.images.described(found) if found else None, info=info)

    async def do_PullImage(self, request: cri.PullImageRequest) -> cri.PullImageResponse:
        return cri.PullImageResponse(image_ref=self.images.pull(request.image.image, request.auth))

    async def do_RemoveImage(self, request: cri.RemoveImageRequest) -> cri.RemoveImageResponse:
        self.images.remove(request.image.image)
        return cri.RemoveImageResponse()

    async def do_ImageFsInfo(self, request: cri.ImageFsInfoRequest) -> cri.ImageFsInfoResponse:
        usage = cri.FilesystemUsage(
            timestamp=self.world.clock_ns(),
            fs_id=cri.FilesystemIdentifier(mountpoint="/var/lib/fake"),
            used_bytes=cri.UInt64Value(value=sum(self.images.here.values())),
            inodes_used=cri.UInt64Value(value=len(self.images.here)),
        )
        return cri.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])
