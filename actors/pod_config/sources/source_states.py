"""The pods of each source, and their errors. Pure."""

from __future__ import annotations

from typing import NamedTuple

from actors.shared.kube.names import SOURCE_API, SOURCE_FILE, SOURCE_HTTP

from ..messages import SourceState
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
    sources: Sources, duplicates: list[str], quarantined: QuarantinedManifests, *, was_ready: bool
) -> list[SourceState]:
    """`duplicates`: an error for each pod that has the name or UID of another one. `was_ready`: every source has been
    read once."""
    files, url, api = sources
    of = _by_source(duplicates, url)
    states = []
    if files is not None:
        wrong = [*files.errors(), *of[SOURCE_FILE], *quarantined.errors(from_api=False)]
        ready = files.is_read or was_ready
        states.append(SourceState(SOURCE_FILE, files.path, ready, len(list(files.pods())), wrong))
    if url is not None:
        states.append(SourceState(SOURCE_HTTP, url.url, url.synced, len(url.pods), [*url.errors, *of[SOURCE_HTTP]]))
    if api is not None:
        wrong = [*api.errors(), *of[SOURCE_API], *quarantined.errors(from_api=True)]
        states.append(SourceState(SOURCE_API, "", api.synced, len(api.candidates), wrong))
    return states


def _by_source(duplicates: list[str], url: UrlSource | None) -> dict[str, list[str]]:
    """Each error starts with the place of its pod."""
    found: dict[str, list[str]] = {SOURCE_FILE: [], SOURCE_HTTP: [], SOURCE_API: []}
    places = {SOURCE_API: SOURCE_API}
    if url is not None:
        places[url.url] = SOURCE_HTTP
    for text in duplicates:
        source = next((one for place, one in places.items() if text.startswith(f"{place}: ")), SOURCE_FILE)
        found[source].append(text)
    return found
