"""The API's name formats. Each check returns the error, '' if the text is valid.

Sources: RFC 1123 (labels, subdomains), RFC 6335 (port names), API conventions (qualified names, label values).
"""

from __future__ import annotations

import ipaddress
import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z", re.ASCII)
_PORT_NAME = re.compile(r"(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
_SYSCTL = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
_HEADER = re.compile(r"[-A-Za-z0-9]+\Z", re.ASCII)


def dns_label(text: str) -> str:
    if len(text) <= 63 and _LABEL.match(text):
        return ""
    return f"{text[:80]!r} is not a DNS label: lower case letters, digits and '-', at most 63, no '-' at either end"


def dns_subdomain(text: str) -> str:
    if len(text) <= 253 and _SUBDOMAIN.match(text):
        return ""
    return f"{text[:80]!r} is not a DNS name: lower case letters, digits, '-' and '.', at most 253"


def qualified_name(text: str) -> str:
    """A label or annotation key, a resource: [prefix/]name."""
    prefix, slash, name = text.rpartition("/")
    if slash and (wrong := dns_subdomain(prefix)):
        return wrong
    if 0 < len(name) <= 63 and _QUALIFIED.match(name):
        return ""
    return f"{text[:80]!r} is not a qualified name: letters, digits, '-', '_' and '.', at most 63 after the '/'"


def label_value(text: str) -> str:
    if not text or (len(text) <= 63 and _QUALIFIED.match(text)):
        return ""
    return f"{text[:80]!r} is not a label value: letters, digits, '-', '_' and '.', at most 63"


def port_name(text: str) -> str:
    if len(text) <= 15 and _PORT_NAME.match(text) and any(char.isalpha() for char in text):
        return ""
    return f"{text[:40]!r} is not a port name: at most 15 of a-z, 0-9 and '-', with a letter"


def port_number(number: int) -> str:
    return "" if 1 <= number <= 65535 else f"{number} is not between 1 and 65535"


def env_name(text: str) -> str:
    """Printable ASCII without '=' (KEP-4369, on since 1.34)."""
    if text and all(" " <= char <= "~" and char != "=" for char in text):
        return ""
    return f"{text[:80]!r} is not a name of a variable: printable ASCII without '='"


def ip_address(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return f"{text[:60]!r} is not an IP address"
    return ""


def sysctl_name(text: str) -> str:
    return "" if len(text) <= 253 and _SYSCTL.match(text) else f"{text[:80]!r} is not the name of a sysctl"


def header_name(text: str) -> str:
    return "" if _HEADER.match(text) else f"{text[:80]!r} is not the name of an HTTP header"


def inside_path(text: str) -> str:
    """A relative path that does not leave its directory."""
    if text.startswith("/"):
        return "must be a relative path"
    return "must not contain '..'" if ".." in text.split("/") else ""


def own_path(text: str) -> str:
    """A relative path that does not leave its directory, and is none of the names that the agent uses there."""
    wrong = inside_path(text)
    return "must not start with '..'" if not wrong and text.startswith("..") else wrong


def signer_name(text: str) -> str:
    """The signer of certificates: a domain of at least two labels, and a path."""
    domain, slash, path = text.partition("/")
    labels = domain.split(".")
    valid = slash and len(domain) <= 253 and len(labels) > 1 and not any(map(dns_label, labels))
    if valid and not any(map(dns_subdomain, path.split("."))):
        return ""
    return f"{text[:80]!r} is not the name of a signer, like example.com/signer-name" if text else "required"


def trust_bundle_name(text: str) -> str:
    """In the name of a signer's bundle, the part before the last ':' is the signer's name, with ':' for '/'."""
    return dns_subdomain(text.rpartition(":")[2]) if text else "required"
