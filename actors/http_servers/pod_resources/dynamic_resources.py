"""The devices of resource claims, by container, from the device manager."""

from __future__ import annotations

from collections.abc import Iterable

from actors.device_manager.messages import DEVICE_MANAGER, GetPodClaims, PodClaim
from proto import podresources_pb2 as api
from supervision.actor import Actor

from .pods import PodInUse

ASK_SECONDS = 5.0
Claims = dict[tuple[str, str], PodClaim]
"""By namespace and name."""


async def find_claims(actor: Actor, pods: Iterable[PodInUse]) -> Claims:
    """The devices of the pods' claims. The device manager is asked only if a pod has a claim. Raises AskError."""
    if not any(pod.claims for pod in pods):
        return {}
    answer = await actor.ask(DEVICE_MANAGER, GetPodClaims(), timeout=ASK_SECONDS)
    return {(claim.namespace, claim.name): claim for claim in answer.claims}


def dynamic_resources(pod: PodInUse, container: str, claims: Claims) -> list[api.DynamicResource]:
    """An entry for each claim that the container uses and that drivers may have prepared, with all devices of the
    claim, as in the kubelet.
    """
    wanted = ((pod.namespace, name) for name in pod.claims.get(container, ()))
    return [_resource(claims[key]) for key in wanted if key in claims]


def _resource(claim: PodClaim) -> api.DynamicResource:
    return api.DynamicResource(
        claim_name=claim.name,
        claim_namespace=claim.namespace,
        claim_resources=[
            api.ClaimResource(
                cdi_devices=[api.CDIDevice(name=name) for name in one.cdi_devices],
                driver_name=one.driver,
                pool_name=one.pool,
                device_name=one.device,
                share_id=one.share_id,
            )
            for one in claim.devices
        ],
    )
