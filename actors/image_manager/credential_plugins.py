"""Credential plug-ins, programs of the node (KEP-2133): selects those for an image and caches their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from actors.shared.config.sources.credential_providers import Provider
from supervision.metrics import Metrics

from .keyring import Credential, Keyring, fits
from .plugin_process import CredentialProviderRequest, CredentialProviderResponse, PluginFailed, ask
from .pull_records import FoundCredential, ServiceAccount

PURGE_SECONDS: Final = 900.0


class Account(msgspec.Struct, frozen=True):
    """The service account of the pod that an image is for."""

    namespace: str = ""
    name: str = ""
    pod: str = ""
    uid: str = ""


class Identity(msgspec.Struct, frozen=True):
    """The pod's identity for a plug-in: a token, and annotations of its service account; nothing without one."""

    account_uid: str = ""
    token: str = ""
    annotations: dict[str, str] = {}


Identify = Callable[[Provider, Account], Awaitable[Identity | None]]
"""None: the plug-in is not for the pod. Raises PluginFailed."""
Run = Callable[[Provider, CredentialProviderRequest], Awaitable[CredentialProviderResponse]]


class _Cached(msgspec.Struct, frozen=True):
    keyring: Keyring
    until: float


class CredentialPlugins:
    """The configured plug-ins, in the configuration's order."""

    def __init__(
        self,
        providers: Sequence[Provider],
        bin_dir: str,
        identify: Identify,
        warn: Callable[[str], None],
        *,
        run: Run | None = None,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._providers, self._identify, self._warn = providers, identify, warn
        self._run: Run = run or (lambda provider, request: ask(provider, bin_dir, request))
        self._clock, self._metrics = clock, metrics
        self._cache: dict[tuple[str, ...], _Cached] = {}
        self._going: dict[tuple[str, ...], asyncio.Task[Keyring]] = {}
        self._purged = clock()

    async def matching(self, image: str, account: Account) -> list[FoundCredential]:
        """The credentials for an image, by its full name without tag. A failing plug-in contributes none, and the pull
        continues."""
        matching = [one for one in self._providers if any(fits(pattern, image) for pattern in one.matchImages)]
        found = await asyncio.gather(*(self._find_credentials(provider, image, account) for provider in matching))
        return list(dict.fromkeys(one for each in found for one in each))

    async def _find_credentials(self, provider: Provider, image: str, account: Account) -> list[FoundCredential]:
        """A plug-in without a service account gives credentials of the node."""
        identity: Identity | None = Identity()
        try:
            if provider.tokenAttributes is not None:
                identity = await self._identify(provider, account)
        except PluginFailed as error:
            self._warn(f"credential plug-in {provider.name}: {error}")
            return []
        if identity is None:
            return []
        ring = await self._keyring(provider, image, account, identity)
        source = ServiceAccount(identity.account_uid, account.namespace, account.name) if identity.token else None
        return [FoundCredential(credential, source) for credential in ring.matching(image)]

    async def _keyring(self, provider: Provider, image: str, account: Account, identity: Identity) -> Keyring:
        try:
            who = _account_key(provider, account, identity) if identity.token else ()
            return self._read_cache(provider, image, who) or await self._join(provider, image, who, identity)
        except PluginFailed as error:
            self._warn(f"credential plug-in {provider.name}: {error}")
            return Keyring()

    def _read_cache(self, provider: Provider, image: str, who: tuple[str, ...]) -> Keyring | None:
        now = self._clock()
        for kind, key in (("Image", image), ("Registry", registry(image)), ("Global", "")):
            found = self._cache.get((provider.name, kind, key, *who))
            if found is not None and now < found.until:
                return found.keyring
        return None

    async def _join(self, provider: Provider, image: str, who: tuple[str, ...], identity: Identity) -> Keyring:
        """Concurrent equal runs are joined."""
        key = (provider.name, image, *who)
        task = self._going.get(key)
        if task is None:
            task = self._going[key] = asyncio.ensure_future(self._ask(provider, image, who, identity))
            task.add_done_callback(lambda _: self._going.pop(key, None))
        return await asyncio.shield(task)

    async def _ask(self, provider: Provider, image: str, who: tuple[str, ...], identity: Identity) -> Keyring:
        response = await self._measure_run(
            provider, CredentialProviderRequest(image, identity.token, identity.annotations)
        )
        if (
            identity.token
            and not _is_by_token(provider)
            and any(password == identity.token for _, password in response.auth.values())
        ):
            raise PluginFailed(
                "credential provider plugin returned the service account token as the password which is not allowed "
                "when service account cache type is not set to 'Token'"
            )
        ring = Keyring([(pattern, Credential(*pair)) for pattern, pair in response.auth.items()])
        default = float(provider.defaultCacheDuration or 0.0)
        seconds = default if response.cache_seconds is None else response.cache_seconds
        if seconds > 0:
            key = {"Image": image, "Registry": registry(image)}.get(response.cache_key, "")
            self._cache[provider.name, response.cache_key, key, *who] = _Cached(ring, self._clock() + seconds)
        self._purge()
        return ring

    async def _measure_run(self, provider: Provider, request: CredentialProviderRequest) -> CredentialProviderResponse:
        """Raises PluginFailed."""
        started_at = self._clock()
        try:
            return await self._run(provider, request)
        except PluginFailed:
            if self._metrics is not None:
                self._metrics.count("kubelet_credential_provider_plugin_errors_total", plugin_name=provider.name)
            raise
        finally:
            if self._metrics is not None:
                name, seconds = provider.name, self._clock() - started_at
                self._metrics.observe("kubelet_credential_provider_plugin_duration", seconds, plugin_name=name)

    def _purge(self) -> None:
        now = self._clock()
        if now - self._purged >= PURGE_SECONDS:
            self._purged = now
            self._cache = {key: found for key, found in self._cache.items() if now < found.until}


def registry(image: str) -> str:
    return image.partition("/")[0]


def _is_by_token(provider: Provider) -> bool:
    """Whether an answer counts for one token only, so that it may be that token."""
    return provider.tokenAttributes is not None and provider.tokenAttributes.cacheType == "Token"


def _account_key(provider: Provider, account: Account, identity: Identity) -> tuple[str, ...]:
    """The rest of the cache key of a plug-in that knows the pod's service account."""
    annotations = [f"{key}={value}" for key, value in sorted(identity.annotations.items())]
    token = identity.token if _is_by_token(provider) else ""
    return account.namespace, account.name, identity.account_uid, token, *annotations
