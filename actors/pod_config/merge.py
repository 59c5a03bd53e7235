"""The pods of all sources as one set, and its changes as pod operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.pod_workers.messages import PodOperation


class Candidate(msgspec.Struct, frozen=True):
    """A pod that a source offers."""

    uid: str
    full_name: str
    place: str
    """File, URL or `api`."""
    data: bytes


class Chosen(msgspec.Struct, frozen=True):
    """The pods that count, by UID, and why others do not."""

    pods: dict[str, Candidate]
    errors: list[str]


def choose(sources: Iterable[list[Candidate]], before: Mapping[str, Candidate]) -> Chosen:
    """One pod for each UID, and in each source one for each name.

    Of two, the one that was there `before` (from the same place) stays, so that a copy of a manifest never replaces a
    running pod; else the first.
    """
    incumbents = {(pod.full_name, pod.place) for pod in before.values()}
    pods: dict[str, Candidate] = {}
    errors: list[str] = []
    for source in sources:
        names: dict[str, str] = {}
        for pod in sorted(source, key=lambda each: (each.full_name, each.place) not in incumbents):
            owner = names.get(pod.full_name) or (pods[pod.uid].place if pod.uid in pods else "")
            if owner:
                errors.append(f"{pod.place}: pod {pod.full_name} is also in {owner}, which stays")
                continue
            names[pod.full_name] = pod.place
            pods[pod.uid] = pod
    return Chosen(pods, sorted(errors))


def operations(before: Mapping[str, Candidate], now: Mapping[str, Candidate]) -> list[PodOperation]:
    """What the pod workers get: removals first, then new and changed pods."""
    removals = [PodOperation("remove", uid) for uid in before if uid not in now]
    changed = [
        PodOperation("set", uid, pod.data)
        for uid, pod in now.items()
        if uid not in before or before[uid].data != pod.data
    ]
    return removals + changed
