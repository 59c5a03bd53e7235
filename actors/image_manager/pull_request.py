"""The CRI messages of a pull: the image, the pod that it is for, the credential; and the errors that answer it.

A runtime may depend on the pod: CRI-O has a signature policy for each namespace, containerd a snapshotter for the
runtime handler that an annotation names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from actors.shared.cri.errors import CriError, Unavailable

from .keyring import Credential
from .messages import EnsureImage

if TYPE_CHECKING:
    from proto import cri_pb2 as cri


def image_spec(question: EnsureImage, image: str) -> cri.ImageSpec:
    """`image`: with its tag or digest."""
    from proto import cri_pb2 as cri

    return cri.ImageSpec(image=image, runtime_handler=question.runtime_handler, annotations=question.annotations)


def sandbox(question: EnsureImage) -> cri.PodSandboxConfig:
    """The part of the pod's sandbox config that matters for an image."""
    from actors.shared.kube.names import POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL
    from proto import cri_pb2 as cri

    return cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=question.pod_name, uid=question.uid, namespace=question.namespace),
        labels={
            POD_NAME_LABEL: question.pod_name,
            POD_NAMESPACE_LABEL: question.namespace,
            POD_UID_LABEL: question.uid,
        },
        annotations=question.annotations,
    )


def auth(credential: Credential | None) -> cri.AuthConfig | None:
    """None: anonymously."""
    from proto import cri_pb2 as cri

    if credential is None:
        return None
    return cri.AuthConfig(
        username=credential.username,
        password=credential.password,
        identity_token=credential.identity_token,
        registry_token=credential.registry_token,
    )


def input_of(question: EnsureImage) -> bytes:
    """The inputs of the work for an image besides its name, for any pod: an image that ends the image manager
    does so for each pod that has it, and a pod's secret for that pod's kind only."""
    documents = [secret.document for secret in question.pull_secrets]
    return msgspec.msgpack.encode([question.policy, question.runtime_handler, question.service_account, documents])


def runtime_text(error: CriError) -> str:
    """The runtime's text, with the code if that is informative."""
    return error.details if error.code == "UNKNOWN" else error.rpc_text


def together(errors: Sequence[CriError]) -> CriError:
    """The joined error of several credentials, with each text once, as in the kubelet."""
    texts = list(dict.fromkeys(map(runtime_text, errors)))
    if len(texts) == 1 or isinstance(errors[-1], Unavailable):
        return errors[-1]
    return CriError("PullImage", "UNKNOWN", f"[{', '.join(texts)}]")
