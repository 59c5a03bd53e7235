"""Reports about devices: for the pod resources API, and for the status of pods. Pure."""

from __future__ import annotations

from .holdings import NO_NODE, Holdings
from .inventory import Inventory
from .messages import Devices, ListedDevices

Health = dict[str, dict[str, dict[str, dict[str, str]]]]
"""Healthy, Unhealthy or Unknown by pod UID, container, resource and device."""


def listed(inventory: Inventory, holdings: Holdings) -> Devices:
    """One entry for each device and NUMA node, as the kubelet lists them."""
    containers: dict[str, dict[str, list[ListedDevices]]] = {}
    for key, share in holdings.items():
        there = containers.setdefault(key.uid, {}).setdefault(key.container, [])
        there += [
            ListedDevices(key.resource, [one], [] if node == NO_NODE else [node])
            for node, ids in sorted(share.devices.items())
            for one in ids
        ]
    return Devices(containers, [one for name in inventory.names for one in _healthy(inventory, name)])


def _healthy(inventory: Inventory, name: str) -> list[ListedDevices]:
    resource = inventory.get(name)
    if resource is None:
        return []
    return [
        ListedDevices(name, [one], [] if node == NO_NODE else [node])
        for one in sorted(resource.healthy)
        for node in resource.devices[one].nodes or (NO_NODE,)
    ]


def health(inventory: Inventory, holdings: Holdings) -> Health:
    texts = {True: "Healthy", False: "Unhealthy", None: "Unknown"}
    found: Health = {}
    for key, share in holdings.items():
        states = inventory.health(key.resource, share.ids)
        there = found.setdefault(key.uid, {}).setdefault(key.container, {})
        there[key.resource] = {one: texts[state] for one, state in sorted(states.items())}
    return found
