"""The zones of in-tree volumes, under the keys of CSI drivers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.names import OLD_REGION_LABEL, OLD_ZONE_LABEL, REGION_LABEL, ZONE_LABEL
from actors.shared.kube.node_selector import NodeSelector, NodeSelectorTerm, Requirement
from actors.shared.kube.persistent_volumes import PersistentVolume, VolumeNodeAffinity

GCE_ZONE: Final = "topology.gke.io/zone"
VSPHERE_KEYS: Final = ("topology.csi.vmware.com/zone", "topology.csi.vmware.com/region")
_DELIMITER: Final = "__"
"""Separates the zones in a label."""


def zones_of(meta: ObjectMeta) -> list[str]:
    """The zones in the labels of a volume."""
    text = meta.labels.get(OLD_ZONE_LABEL) or meta.labels.get(ZONE_LABEL, "")
    return text.split(_DELIMITER) if text else []


def gce_region(zones: Iterable[str]) -> str:
    """The region of zones like europe-west1-b. Raises ValueError."""
    regions = set[str]()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise ValueError(f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise ValueError(f"multiple or no regions gotten from zones, got: {sorted(regions)}")
    return regions.pop()


def translated_topology(volume: PersistentVolume, zone: str, region: str) -> VolumeNodeAffinity | None:
    """The volume's node affinity with the driver's keys instead of the cluster's. If the affinity has no zone, the zone
    of the volume's labels is added. `region`: '' for a driver without one.
    """
    affinity, labels = volume.spec.nodeAffinity, volume.metadata.labels
    keys = set(_keys(affinity))
    old = ZONE_LABEL not in keys and (OLD_ZONE_LABEL in keys or (ZONE_LABEL not in labels and OLD_ZONE_LABEL in labels))
    found = _replace_label(affinity, OLD_ZONE_LABEL if old else ZONE_LABEL, zone, labels)
    if region:
        return _replace_label(found, OLD_REGION_LABEL if old else REGION_LABEL, region, labels)
    return _rename_key(found, OLD_REGION_LABEL, REGION_LABEL) if old else found


def _keys(affinity: VolumeNodeAffinity | None) -> Iterator[str]:
    for term in _terms(affinity):
        yield from (one.key for one in term.matchExpressions or [])


def _terms(affinity: VolumeNodeAffinity | None) -> list[NodeSelectorTerm]:
    return (affinity.required.nodeSelectorTerms or []) if affinity is not None and affinity.required else []


def _replace_label(
    affinity: VolumeNodeAffinity | None, old: str, new: str, labels: dict[str, str]
) -> VolumeNodeAffinity | None:
    if old in _keys(affinity):
        return _rename_key(affinity, old, new)
    values = sorted({one.strip() for one in labels.get(old, "").split(_DELIMITER)} - {""})
    if not values:
        return affinity
    added = Requirement(key=new, operator="In", values=values)
    terms = _terms(affinity) or [NodeSelectorTerm()]
    return _affinity(replace(one, matchExpressions=[*(one.matchExpressions or []), added]) for one in terms)


def _rename_key(affinity: VolumeNodeAffinity | None, old: str, new: str) -> VolumeNodeAffinity | None:
    if old not in _keys(affinity):
        return affinity
    return _affinity(
        replace(term, matchExpressions=[replace(one, key=new) if one.key == old else one for one in expressions])
        for term in _terms(affinity)
        for expressions in [term.matchExpressions or []]
    )


def _affinity(terms: Iterable[NodeSelectorTerm]) -> VolumeNodeAffinity:
    return VolumeNodeAffinity(required=NodeSelector(nodeSelectorTerms=list(terms)))
