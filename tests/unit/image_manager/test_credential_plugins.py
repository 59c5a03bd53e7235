"""Credential plug-ins: whom they are asked for, what is kept, what their programs say."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from actors.image_manager import plugin_process
from actors.image_manager.credential_plugins import PURGE_SECONDS, Account, CredentialPlugins, Identity
from actors.image_manager.keyring import Credential
from actors.image_manager.plugin_process import (
    CredentialProviderRequest,
    CredentialProviderResponse,
    PluginFailed,
    ask,
    encode,
    read,
)
from actors.shared.config.fields.duration import Duration
from actors.shared.config.sources.credential_providers import API_VERSIONS, Provider, TokenAttributes, Variable

V1 = API_VERSIONS[0]
IMAGE = "r.example.com/team/app"
POD = Account("ns", "robot", "p", "u")


def provider(name: str = "plug", *patterns: str, **more) -> Provider:
    given = {"defaultCacheDuration": Duration.parse("1m"), "apiVersion": V1, **more}
    return Provider(name=name, matchImages=list(patterns) or ["*.example.com"], **given)


class Site:
    """Plug-ins whose programs are the test's, time in its hand."""

    def __init__(
        self, *providers: Provider, response: CredentialProviderResponse | None = None, token: str = "t"
    ) -> None:
        self.now, self.token = 0.0, token
        self.calls: list[tuple[str, str, str]] = []
        self.said: list[str] = []
        self.response = response or CredentialProviderResponse("Image", None, {"*.example.com": ("me", "secret")})
        self.fails = False
        self.plugins = CredentialPlugins(
            providers, "/bin", self._identify, self.said.append, run=self._run, clock=lambda: self.now
        )

    async def _identify(self, one: Provider, account: Account) -> Identity | None:
        if account.name:
            return Identity("sa-uid", self.token, {"a": "b"})
        return None if one.tokenAttributes and one.tokenAttributes.requireServiceAccount else Identity()

    async def _run(self, one: Provider, request: CredentialProviderRequest) -> CredentialProviderResponse:
        self.calls.append((one.name, request.image, request.token))
        await asyncio.sleep(0)
        if self.fails:
            raise PluginFailed("ended with 1: no")
        return self.response

    async def names(self, image: str = IMAGE, account: Account = POD) -> list[str]:
        return [found.credential.username for found in await self.plugins.matching(image, account)]


async def test_only_plugins_with_a_matching_pattern_are_run_in_their_order():
    site = Site(provider("b"), provider("other", "quay.io"), provider("a", "r.example.com/team"))
    assert await site.names() == ["me"]
    assert [name for name, _, _ in site.calls] == ["b", "a"]


@pytest.mark.parametrize(
    ("kind", "same", "other"),
    [
        ("Image", IMAGE, "r.example.com/team/b"),
        ("Registry", "r.example.com/x", "s.example.com/x"),
        ("Global", "s.example.com/y", ""),
    ],
)
async def test_an_answer_is_cached_for_the_image_the_registry_or_globally(kind, same, other):
    site = Site(provider(), response=CredentialProviderResponse(kind, None, {"*.example.com": ("me", "s")}))
    await site.names()
    assert await site.names(same) == ["me"]
    assert len(site.calls) == 1
    if other:
        await site.names(other)
        assert len(site.calls) == 2


@pytest.mark.parametrize(("seconds", "runs"), [(None, 2), (0.0, 3), (-1.0, 3), (1000.0, 1)])
async def test_the_answer_or_the_configuration_sets_the_cache_duration(seconds, runs):
    site = Site(provider(), response=CredentialProviderResponse("Image", seconds, {}))
    await site.names()
    await site.names()
    site.now = 61.0
    await site.names()
    assert len(site.calls) == runs


async def test_from_time_to_time_the_answers_that_are_over_are_removed_and_no_others():
    site = Site(provider(defaultCacheDuration=Duration.parse("10m")))
    await site.names("r.example.com/a")
    site.now = PURGE_SECONDS - 1.0
    await site.names("r.example.com/b")
    assert len(site.plugins._cache) == 2
    site.now = PURGE_SECONDS
    await site.names("r.example.com/c")
    assert {key[2] for key in site.plugins._cache} == {"r.example.com/b", "r.example.com/c"}
    site.now = PURGE_SECONDS + 601.0
    await site.names("r.example.com/d")
    assert len(site.plugins._cache) == 3, "the next removal is as long after the last one"


async def test_concurrent_requests_share_one_run():
    site = Site(provider())
    assert await asyncio.gather(*(site.names() for _ in range(5))) == [["me"]] * 5
    assert len(site.calls) == 1


async def test_a_failing_plugin_is_reported_and_the_others_continue():
    site = Site(provider())
    site.fails = True
    assert await site.names() == []
    assert site.said == ["credential plug-in plug: ended with 1: no"]
    site.fails = False
    assert await site.names() == ["me"]


async def test_credentials_for_other_images_are_not_used():
    site = Site(
        provider(),
        response=CredentialProviderResponse(
            "Global", None, {"quay.io": ("other", ""), "r.example.com/team": ("me", "")}
        ),
    )
    assert await site.names() == ["me"]


# -- tokens -----------------------------------------------------------------------------------------------------------
def with_token(kind: str = "ServiceAccount", *, required: bool = False) -> Provider:
    wanted = TokenAttributes(serviceAccountTokenAudience="aud", cacheType=kind, requireServiceAccount=required)
    return provider(tokenAttributes=wanted)


async def test_a_plugin_that_requires_a_token_gets_that_of_the_pods_account():
    site = Site(with_token())
    await site.names()
    assert site.calls == [("plug", IMAGE, "t")]
    await site.names(account=Account("ns", "someone", "p", "u"))
    assert len(site.calls) == 2, "what was said to one account is not for another"


@pytest.mark.parametrize(("kind", "names"), [("ServiceAccount", []), ("Token", ["me"])])
async def test_a_token_is_a_password_only_where_the_answer_counts_for_that_token(kind, names):
    response = CredentialProviderResponse("Image", None, {"*.example.com": ("me", "t"), "b.io": ("x", "y")})
    site = Site(with_token(kind), response=response)
    assert await site.names() == names
    assert bool(site.said) is not bool(names)


async def test_credentials_are_cached_for_one_token_only():
    site = Site(with_token("Token"))
    await site.names()
    site.token = "t2"
    await site.names()
    assert [token for _, _, token in site.calls] == ["t", "t2"]
    of_account = Site(with_token("ServiceAccount"))
    await of_account.names()
    of_account.token = "t2"
    await of_account.names()
    assert len(of_account.calls) == 1


async def test_a_plugin_that_requires_no_account_serves_a_pod_without_one_with_credentials_of_the_node():
    site = Site(with_token())
    [found] = await site.plugins.matching(IMAGE, Account())
    assert (found.credential.username, found.source) == ("me", None)
    await site.names(account=Account("other"))
    assert site.calls == [("plug", IMAGE, "")], "what it said is for every such pod"


async def test_a_plugin_that_requires_an_account_is_silent_for_a_pod_without_one():
    site = Site(with_token(required=True))
    assert await site.names(account=Account()) == []
    assert (site.calls, site.said) == ([], [])


# -- programs ---------------------------------------------------------------------------------------------------------
def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "plug"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(tmp_path)


def answer(**more: object) -> str:
    body = {"kind": "CredentialProviderResponse", "apiVersion": V1, "cacheKeyType": "Image", "auth": {}}
    return json.dumps({**body, **more})


async def test_a_program_is_given_the_request_its_arguments_and_its_environment(tmp_path):
    said = answer(auth={"r.io": {"username": "@U@", "password": "$A"}}, cacheDuration="1h30m")
    script = f"cat > request; pwd > where; echo '{said}' | sed \"s/@U@/$1/\""
    one = provider(args=["robot"], env=[Variable("A", "1")])
    found = await ask(one, program(tmp_path, script), CredentialProviderRequest("r.io/x", "tok", {"k": "v"}))
    assert found == CredentialProviderResponse("Image", 5400.0, {"r.io": ("robot", "$A")})
    text = (tmp_path / "request").read_text()
    assert text.endswith("}\n")  # a line, which `read` of a shell takes
    assert json.loads(text) == {
        "kind": "CredentialProviderRequest", "apiVersion": V1, "image": "r.io/x",
        "serviceAccountToken": "tok", "serviceAccountAnnotations": {"k": "v"},
    }  # fmt: skip
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo no luck >&2; exit 3", "ended with 3: no luck"),
        ("echo '{}'", "not CredentialProviderResponse"),
        ("echo secret", "printed no valid CredentialProviderResponse"),
        (f"echo '{answer(cacheKeyType='Some')}'", "is not one of"),
        (f"echo '{answer(apiVersion='credentialprovider.kubelet.k8s.io/v1beta1')}'", "not CredentialProviderResponse"),
    ],
)
async def test_malformed_output_is_an_error_without_secrets(tmp_path, script, text):
    with pytest.raises(PluginFailed, match=text) as error:
        await ask(provider(), program(tmp_path, script), CredentialProviderRequest("x"))
    assert "secret" not in str(error.value)


async def test_a_program_that_hangs_is_ended_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(plugin_process, "DEADLINE_SECONDS", 0.3)
    with pytest.raises(PluginFailed, match="no answer within"):
        await ask(provider(), program(tmp_path, "sleep 60"), CredentialProviderRequest("x"))


@pytest.mark.parametrize("script", ["exec yes", "yes >&2 & exec yes"])
async def test_a_program_that_never_stops_printing_is_ended_before_it_fills_the_memory(tmp_path, script):
    with pytest.raises(PluginFailed, match="printed more than 1 MiB"):
        await ask(provider(), program(tmp_path, script), CredentialProviderRequest("x"))


async def test_the_end_of_a_long_stderr_is_kept(tmp_path):
    script = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo why >&2; exit 1"
    with pytest.raises(PluginFailed, match=r"ended with 1: x{400,}why") as error:
        await ask(provider(), program(tmp_path, script), CredentialProviderRequest("x"))
    assert len(str(error.value)) < 600


async def test_a_missing_program_is_an_error(tmp_path):
    with pytest.raises(PluginFailed, match="cannot be run"):
        await ask(provider(), str(tmp_path), CredentialProviderRequest("x"))


def test_no_account_metrics_exist_without_token_plugins():
    assert json.loads(encode(provider(), CredentialProviderRequest("x"))) == {
        "kind": "CredentialProviderRequest", "apiVersion": V1, "image": "x",
    }  # fmt: skip
    assert "serviceAccountAnnotations" not in json.loads(encode(provider(), CredentialProviderRequest("x", "tok")))
    assert read(provider(), answer(cacheDuration="-1s").encode()).cache_seconds == -1.0
    assert read(provider(), answer(auth=None).encode()) == CredentialProviderResponse("Image", None, {})
    assert Credential("a", "b") == Credential(*("a", "b"))
