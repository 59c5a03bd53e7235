"""resolv.conf: the resolver configuration of the host or a pod (resolv.conf(5)). Pure.

Limits of the kubelet: 3 name servers, and 32 search domains of 253 characters each and 2048 in all.
"""

from __future__ import annotations

from typing import Final

import msgspec

MAX_SERVERS, MAX_SEARCHES, MAX_SEARCH_CHARACTERS, MAX_DOMAIN_CHARACTERS = 3, 32, 2048, 253
OF_CLUSTER: Final = 3
"""Search domains that a pod gets before the host's."""


class Dns(msgspec.Struct, frozen=True, kw_only=True):
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []


def parse_resolv_conf(text: str) -> Dns:
    """Parse a resolv.conf (resolv.conf(5)): the last `search` line counts, an empty one too, `options` lines add up.
    The root domain is dropped from the search domains: names are also looked up unchanged."""
    servers: list[str] = []
    searches: list[str] = []
    options: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split("#")[0].split(";")[0].split()
        if words[:1] == ["nameserver"]:
            servers += words[1:2]
        elif words[:1] == ["search"]:
            searches = [word.removesuffix(".") for word in words[1:] if word != "."]
        elif words[:1] == ["options"]:
            options |= {word.partition(":")[0]: word for word in words[1:]}
    return Dns(servers=servers, searches=searches, options=list(options.values()))


def exceeded(path: str, text: str, *, cluster_domain: bool) -> str:
    """The first limit that the host's file exceeds, in the kubelet's words; '' for none. `cluster_domain`: leave room
    for the cluster's domains of pods."""
    searches, most = parse_resolv_conf(text).searches, MAX_SEARCHES - (OF_CLUSTER if cluster_domain else 0)
    if len(searches) > most:
        return f"Resolv.conf file '{path}' contains search line consisting of more than {most} domains!"
    if any(len(domain) > MAX_DOMAIN_CHARACTERS for domain in searches):
        text = f"a search path which length is more than allowed {MAX_DOMAIN_CHARACTERS} chars!"
        return f'Resolv.conf file "{path}" contains {text}'
    if len(" ".join(searches)) > MAX_SEARCH_CHARACTERS:
        text = f"search line which length is more than allowed {MAX_SEARCH_CHARACTERS} chars!"
        return f"Resolv.conf file '{path}' contains {text}"
    return ""
