"""Merges the pods of all sources into one set, and computes the pod operations for its changes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.pod_workers.messages import PodOperation


class PodCandidate(msgspec.Struct, frozen=True):
    """A pod of one source."""

    uid: str
    full_name: str
    place: str
    """File, URL or `api`."""
    data: bytes


class DuplicatePod(msgspec.Struct, frozen=True):
    """A pod that was not chosen, because another pod has its name or UID."""

    source: str
    pod: PodCandidate
    chosen_place: str
    """The place of the other pod."""

    @property
    def problem(self) -> str:
        return f"pod {self.pod.full_name} is also in {self.chosen_place}, which stays"

    def __str__(self) -> str:
        return f"{self.pod.place}: {self.problem}"


class MergedPods(msgspec.Struct, frozen=True):
    """The chosen pods by UID, and the pods that were not chosen."""

    pods: dict[str, PodCandidate]
    duplicates: list[DuplicatePod]
    name_conflicts: list[PodCandidate] = []
    """The pods that were not chosen because another pod of their source has their name."""


def choose(sources: Mapping[str, list[PodCandidate]], before: Mapping[str, PodCandidate]) -> MergedPods:
    """Choose one pod for each UID, and for each name in a source. `sources`: the pods by the name of their source.

    Of two pods, the one that was in `before` from the same place stays, so that a copy of a manifest never replaces a
    running pod; otherwise the first one.
    """
    running = {(pod.full_name, pod.place) for pod in before.values()}
    pods: dict[str, PodCandidate] = {}
    duplicates: list[DuplicatePod] = []
    name_conflicts: list[PodCandidate] = []
    for source, candidates in sources.items():
        names: dict[str, str] = {}
        for pod in sorted(candidates, key=lambda each: (each.full_name, each.place) not in running):
            owner = names.get(pod.full_name) or (pods[pod.uid].place if pod.uid in pods else "")
            if owner:
                name_conflicts += [pod] if pod.full_name in names and pod.uid not in pods else []
                duplicates.append(DuplicatePod(source, pod, owner))
                continue
            names[pod.full_name] = pod.place
            pods[pod.uid] = pod
    return MergedPods(pods, sorted(duplicates, key=str), name_conflicts)


def operations(before: Mapping[str, PodCandidate], now: Mapping[str, PodCandidate]) -> list[PodOperation]:
    """The operations for the pod workers: removals first, then new and changed pods."""
    removals = [PodOperation("remove", uid) for uid in before if uid not in now]
    changed = [
        PodOperation("set", uid, pod.data)
        for uid, pod in now.items()
        if uid not in before or before[uid].data != pod.data
    ]
    return removals + changed
