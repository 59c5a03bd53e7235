"""The declaration of the image manager."""

from __future__ import annotations

from typing import Final

from actors.shared.declaration import CRI, Declaration

from .messages import IMAGE_MANAGER

DECLARATION: Final = Declaration(
    name=IMAGE_MANAGER,
    actor="actors.image_manager.actor:ImageManager",
    reads=(
        "registryPullQPS",
        "registryBurst",
        "serializeImagePulls",
        "maxParallelImagePulls",
        "imageMinimumGCAge",
        "imageMaximumGCAge",
        "imageGCHighThresholdPercent",
        "imageGCLowThresholdPercent",
        "runtimeRequestTimeout",
        "imagePullCredentialsVerificationPolicy",
        "preloadedImagesVerificationAllowlist",
        "tracing",
    ),
    pod_inventory=True,
    preload=CRI,
)
