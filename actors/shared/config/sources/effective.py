"""Merges documents and flags into the effective configuration: defaults < file < drop-ins < flags. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.fields.kubelet_configuration import API_VERSION, KIND, KubeletConfiguration
from actors.shared.config.flags.flag_table import FLAGS
from actors.shared.config.validation import rules
from actors.shared.config.validation.rule_kinds import ValidationContext
from actors.shared.config.validation.unsupported import without_effect
from supervision.documents.model import below
from supervision.errors import UNREADABLE

from . import defaults
from .decoding import decode
from .documents import Document
from .layers import source_of
from .merge_patch import leaves, merge_patch, put, without_nulls

DEFAULT: Final = "default"


class Effective(msgspec.Struct, frozen=True):
    """A valid configuration."""

    config: KubeletConfiguration
    sources: dict[str, str]
    """Field path to source, for fields that do not have the plain default."""
    warnings: tuple[str, ...]


def effective(
    documents: Sequence[Document], flags: Mapping[str, Any], context: ValidationContext, *, lenient: bool = False
) -> Effective:
    """Merge, decode and validate. `documents` are the file and its drop-ins; `flags` are from flags.parse.

    `lenient`: unknown fields are warnings. Raises ConfigErrors with every problem.
    """
    sources: dict[str, str] = {}
    data = _merge_documents(documents, sources)
    defaults.drop_zeros(data)
    _apply_flags(data, flags, sources)
    sources.update(defaults.derive(data, _gates(data)))
    problems: list[ConfigProblem] = []
    warnings: list[str] = []

    def where(path: str) -> str:
        found = lookup(sources, path)
        # an object has no source of its own, its parts have
        return next(iter(_sources_of_parts(sources, path)), DEFAULT) if found == DEFAULT else found

    config = decode(KubeletConfiguration, data, where, problems, warnings, lenient=lenient)
    bad = {problem.path for problem in problems}
    problems += [problem for problem in rules.validate(config, context, where) if problem.path not in bad]
    if problems:
        raise ConfigErrors(problems)
    found = (*rules.warnings(config, standalone=bool(context.standalone)), *without_effect(config))
    return Effective(config, sources, (*warnings, *found))


def lookup(sources: Mapping[str, str], path: str) -> str:
    """The source of a field: its own, its nearest parent's, or `default`."""
    place = path
    while place:
        if place in sources:
            return sources[place]
        place = place[: max(place.rfind("."), place.rfind("["))] if "." in place or "[" in place else ""
    return DEFAULT


def shown_source(sources: Mapping[str, str], path: str, value: object) -> str:
    """The source of a field as a whole; of one whose parts have their own, all of these."""
    parts = _sources_of_parts(sources, path)
    if isinstance(value, Mapping):
        parts = [lookup(sources, below(path, key)) for key in value] or parts
    return ", ".join(dict.fromkeys(parts)) or lookup(sources, path)


def _sources_of_parts(sources: Mapping[str, str], path: str) -> list[str]:
    return [source for place, source in sources.items() if place.startswith((f"{path}.", f"{path}["))]


def _merge_documents(documents: Sequence[Document], sources: dict[str, str]) -> dict[str, Any]:
    data: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    for index, document in enumerate(documents):
        patch = without_nulls(document.data) if index == 0 else document.data
        data = merge_patch(data, patch)
        for leaf in leaves(patch):
            sources[leaf] = source_of(document, leaf)
        if index == 0:
            defaults.fill_eviction(data)
            defaults.fix_report_frequency(data, drop_ins=len(documents) > 1)
    data = without_nulls(data)
    if not documents:
        defaults.fill_eviction(data)
    return data


def _apply_flags(data: dict[str, Any], flags: Mapping[str, Any], sources: dict[str, str]) -> None:
    for name, value in flags.items():
        field = FLAGS[name].field
        if field == "featureGates":
            put(data, field, merge_patch(data.get(field), value))
            sources.update({f"{field}.{gate}": f"--{name}" for gate in value})
        elif field:
            put(data, field, value)
            for path in [path for path in sources if path.startswith((f"{field}.", f"{field}["))]:
                del sources[path]
            sources[field] = f"--{name}"


def _gates(data: dict[str, Any]) -> dict[str, bool]:
    """The readable gate overrides; the decoder reports the others."""
    given = data.get("featureGates")
    return {name: on for name, on in given.items() if isinstance(on, bool)} if isinstance(given, dict) else {}


def to_plain(config: KubeletConfiguration) -> dict[str, Any]:
    """Plain JSON data of a configuration for people: unset and empty fields are omitted."""
    return _without_empty(msgspec.to_builtins(config, enc_hook=str))  # type: ignore[no-any-return]


def to_json(config: KubeletConfiguration) -> bytes:
    """JSON of a configuration; `from_json` reads it back to an equal one."""
    return msgspec.json.encode(config, enc_hook=str)


def from_json(raw: bytes) -> KubeletConfiguration:
    """The configuration that to_json wrote. Raises ConfigErrors."""
    try:
        data = msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise ConfigErrors([ConfigProblem("", "", f"must be JSON ({error})")]) from None
    problems: list[ConfigProblem] = []
    config = decode(KubeletConfiguration, data, lambda path: "", problems, [])
    if problems:
        raise ConfigErrors(problems)
    return config


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        pruned = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in pruned.items() if item is not None and item not in ("", [], {})}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
