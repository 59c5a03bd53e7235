"""The pods of each source, and their errors. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from actors.shared.kube.names import SOURCE_API, SOURCE_FILE, SOURCE_HTTP

from ..messages import SourceState
from ..pods.merged_pods import DuplicatePod
from .api_source import ApiSource
from .http_source import UrlSource
from .manifest_directory import ManifestDirectory
from .quarantined_manifests import QuarantinedManifests


class Sources(NamedTuple):
    """The configured sources; None: there is none of this kind."""

    files: ManifestDirectory | None
    url: UrlSource | None
    api: ApiSource | None


def source_states(
    sources: Sources, duplicates: list[DuplicatePod], quarantined: QuarantinedManifests, *, was_ready: bool
) -> list[SourceState]:
    """`was_ready`: every source has been read once."""
    files, url, api = sources
    of: defaultdict[str, list[str]] = defaultdict(list)
    for duplicate in duplicates:
        of[duplicate.source].append(str(duplicate))
    states = []
    if files is not None:
        wrong = [*files.errors(), *of[SOURCE_FILE], *quarantined.errors(from_api=False)]
        ready = files.is_read or was_ready
        states.append(SourceState(SOURCE_FILE, files.path, ready, len(list(files.pods())), wrong))
    if url is not None:
        states.append(
            SourceState(SOURCE_HTTP, url.shown_url, url.synced, len(url.pods), [*url.errors, *of[SOURCE_HTTP]])
        )
    if api is not None:
        wrong = [*api.errors(), *of[SOURCE_API], *quarantined.errors(from_api=True)]
        states.append(SourceState(SOURCE_API, "", api.synced, len(api.candidates), wrong))
    return states
