"""Credential plug-ins for image pulls: kind CredentialProviderConfig (KEP-2133, KEP-4412 for tokens).

A file, or a directory whose .yaml, .yml and .json files are merged in lexical order. It is validated as a whole; an
invalid one prevents the start.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.shared.config.errors import ConfigErrors, ConfigProblem, shown
from actors.shared.config.fields.duration import Duration

from . import documents
from .decoding import decode
from .layers import read_bounded

_KIND: Final = "CredentialProviderConfig"
_GROUP: Final = "kubelet.config.k8s.io/"
_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
API_VERSIONS: Final = tuple(f"credentialprovider.kubelet.k8s.io/{version}" for version in _VERSIONS)
CACHE_TYPES: Final = ("Token", "ServiceAccount")
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_ANNOTATION: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)
_NOT_IN_URL: Final = re.compile(r"[\s\x00-\x1f\x7f]|%(?![0-9a-fA-F]{2})")


class Variable(msgspec.Struct, frozen=True):
    name: str = ""
    value: str = ""


class TokenAttributes(msgspec.Struct, frozen=True):
    """The plug-in is given a token of the pod's service account."""

    serviceAccountTokenAudience: str = ""
    cacheType: str = ""
    requireServiceAccount: bool | None = None
    requiredServiceAccountAnnotationKeys: list[str] = []
    optionalServiceAccountAnnotationKeys: list[str] = []


class Provider(msgspec.Struct, frozen=True):
    name: str = ""
    matchImages: list[str] = []
    defaultCacheDuration: Duration | None = None
    apiVersion: str = ""
    args: list[str] = []
    env: list[Variable] = []
    tokenAttributes: TokenAttributes | None = None


class _Config(msgspec.Struct, frozen=True):
    apiVersion: str = ""
    kind: str = ""
    providers: list[Provider] = []


def load(path: str, bin_dir: str) -> list[Provider]:
    """The providers of a file or directory; none without a path. Raises ConfigErrors with every problem."""
    if not path:
        return []
    problems: list[ConfigProblem] = []
    found = [(file, provider) for file in _files(path, problems) for provider in _read(file, problems)]
    if not found and not problems:
        problems.append(_wrong(path, "providers", "at least one provider is required"))
    names: set[str] = set()
    for file, provider in found:
        problems += _validate(provider, file, bin_dir)
        if provider.name in names:
            problems.append(_wrong(file, "name", f"provider {provider.name!r} is given twice"))
        names.add(provider.name)
    if problems:
        raise ConfigErrors(problems)
    return [provider for _, provider in found]


def digest(path: str) -> str:
    """The hash of a readable configuration that kubelet_credential_provider_config_info shows, over all its files."""
    found = hashlib.sha256()
    for file in _files(path, []):
        raw = read_bounded(file)
        found.update(len(raw).to_bytes(8, "big") + raw)
    return f"sha256:{found.hexdigest()}"


def check(path: str, bin_dir: str) -> list[ConfigProblem]:
    """The problems of the providers."""
    try:
        load(path, bin_dir)
    except ConfigErrors as error:
        return list(error.problems)
    return []


def with_tokens(path: str, bin_dir: str) -> list[ConfigProblem]:
    """A problem for each provider that needs service account tokens, for when their gate is off."""
    rule = "needs the feature gate KubeletServiceAccountTokenForCredentialProviders"
    with_attributes = (provider.name for provider in load(path, bin_dir) if provider.tokenAttributes is not None)
    return [_wrong(path, "tokenAttributes", f"{rule} (provider {name})") for name in with_attributes]


def _files(path: str, problems: list[ConfigProblem]) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = [str(file) for file in sorted(Path(path).iterdir()) if file.suffix in _SUFFIXES and file.is_file()]
    if not found:
        problems.append(_wrong(path, "", "the directory has no .yaml, .yml or .json file"))
    return found


def _read(file: str, problems: list[ConfigProblem]) -> list[Provider]:
    try:
        document = documents.read(read_bounded(file), file)
    except ConfigErrors as error:
        problems += error.problems
        return []
    except (OSError, ValueError) as error:
        problems.append(_wrong(file, "", f"cannot be read: {getattr(error, 'strerror', None) or error}"))
        return []

    def source_of(field: str) -> str:
        line = document.lines.get(field)
        return f"{file}:{line}" if line else file

    config = decode(_Config, document.data, source_of, problems, [])
    group, _, version = config.apiVersion.rpartition("/")
    if config.kind != _KIND or f"{group}/" != _GROUP or version not in _VERSIONS:
        rule = f"must be kind {_KIND} of {_GROUP}v1, v1beta1 or v1alpha1"
        problems.append(ConfigProblem("kind", shown(f"{config.kind} {config.apiVersion}"), rule, file))
        return []
    return config.providers


def _validate(provider: Provider, file: str, bin_dir: str) -> Iterator[ConfigProblem]:
    name = provider.name
    if not name or "/" in name or name in (".", "..") or re.search(r"\s", name):
        yield _wrong(file, "name", "is required, without '/' and spaces, and not '.' or '..'", name)
    elif not os.access(f"{bin_dir}/{name}", os.X_OK):
        yield _wrong(file, "name", f"there is no program {bin_dir}/{name}", name)
    if provider.apiVersion not in API_VERSIONS:
        yield _wrong(file, "apiVersion", f"must be one of {', '.join(API_VERSIONS)}", provider.apiVersion)
    if not provider.matchImages:
        yield _wrong(file, "matchImages", f"at least one is required (provider {name})")
    for pattern in provider.matchImages:
        if not is_pattern(pattern):
            yield _wrong(file, "matchImages", "must be a host with optional port and path, without scheme", pattern)
    if provider.defaultCacheDuration is None or provider.defaultCacheDuration < 0:
        yield _wrong(file, "defaultCacheDuration", f"is required and must not be negative (provider {name})")
    for variable in provider.env:
        if not variable.name or "=" in variable.name:
            yield _wrong(file, "env", "needs a name without '='", variable.name)
    if provider.tokenAttributes is not None:
        yield from _token_problems(provider, provider.tokenAttributes, file)


def _token_problems(provider: Provider, wanted: TokenAttributes, file: str) -> Iterator[ConfigProblem]:
    where = "tokenAttributes"
    if provider.apiVersion != API_VERSIONS[0]:
        yield _wrong(file, where, f"needs apiVersion {API_VERSIONS[0]}", provider.apiVersion)
    if not wanted.serviceAccountTokenAudience:
        yield _wrong(file, f"{where}.serviceAccountTokenAudience", "is required")
    if wanted.cacheType not in CACHE_TYPES:
        yield _wrong(file, f"{where}.cacheType", f"must be one of {', '.join(CACHE_TYPES)}", wanted.cacheType)
    if wanted.requireServiceAccount is None:
        yield _wrong(file, f"{where}.requireServiceAccount", "is required")
    required, optional = wanted.requiredServiceAccountAnnotationKeys, wanted.optionalServiceAccountAnnotationKeys
    if required and not wanted.requireServiceAccount:
        yield _wrong(file, f"{where}.requiredServiceAccountAnnotationKeys", "needs requireServiceAccount true")
    for key in (*required, *optional):
        if not _ANNOTATION.match(key):
            yield _wrong(file, where, "must be the key of an annotation", key)
    both = [*required, *optional]
    if len(both) != len(set(both)):
        yield _wrong(file, where, "an annotation key is given twice")


def is_pattern(text: str) -> bool:
    """`host[:port][/path]`, whose host labels may be globs. As in a URL, a `%` in the path begins an escape."""
    host = text.partition("/")[0]
    name, colon, port = host.partition(":")
    if not name or "%" in host or "://" in text or _NOT_IN_URL.search(text):
        return False
    return not colon or port.isdigit()


def _wrong(file: str, path: str, rule: str, value: Any = None) -> ConfigProblem:
    return ConfigProblem(path, "" if value is None else shown(value), rule, file)
