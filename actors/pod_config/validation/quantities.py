"""Invalid quantities in a pod from the API server. It refuses such a pod; one that gets here all the same would end
every actor that computes with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError, parse

from .errors import FieldError

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def unreadable_quantities(pod: Pod) -> Iterator[FieldError]:
    """An error for each."""
    for path, given in _quantities(pod):
        for name, quantity in given.items():
            try:
                parse(quantity)
            except QuantityError as error:
                yield FieldError(f"{path}[{name}]", str(error))


def _quantities(pod: Pod) -> Iterator[tuple[str, Mapping[str, Quantity]]]:
    """Path and quantities of each field that has some."""
    spec = pod.spec
    for kind in _CONTAINERS:
        for index, container in enumerate(getattr(spec, kind)):
            yield f"spec.{kind}[{index}].resources.limits", container.resources.limits
            yield f"spec.{kind}[{index}].resources.requests", container.resources.requests
    if spec.resources is not None:
        yield "spec.resources.limits", spec.resources.limits
        yield "spec.resources.requests", spec.resources.requests
    yield "spec.overhead", spec.overhead
    for index, volume in enumerate(spec.volumes):
        if volume.emptyDir is not None and volume.emptyDir.sizeLimit is not None:
            yield f"spec.volumes[{index}].emptyDir", {"sizeLimit": volume.emptyDir.sizeLimit}
