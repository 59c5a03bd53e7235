"""The messages of the config controller."""

from __future__ import annotations

from typing import ClassVar, Final

from supervision.addresses import ActorName
from supervision.message import Message, Question

CONFIG_CONTROLLER: Final = ActorName("config_controller")


class GetConfigz(Question["Configz"], frozen=True):
    """Asks for the effective configuration; answered with Configz."""


class Configz(Message, frozen=True):
    """`body` is the JSON that /configz serves: `{"kubeletconfig": {...}}`."""

    body: bytes


class GetFlagz(Question["Flagz"], frozen=True):
    """Asks for the command line; answered with Flagz."""


class Flagz(Message, frozen=True):
    """The content of /flagz and /statusz."""

    flags: dict[str, str]
    """Every flag of the kubelet and of ours by name, without dashes, to its effective value as it would be written; the
    file's value where a flag sets a field that the file sets. Secrets are masked."""
    given: tuple[str, ...]
    """The flags that are on the command line."""
    gates: dict[str, bool]
    """Every known feature gate with its effective value."""
    version: str
    """v1.36.2+troupelet.0.2.0"""
    waiting: tuple[str, ...] = ()
    """Top-level fields of the configuration that have changed and wait for a restart of the agent."""
    refused: tuple[str, ...] = ()
    """Why the configuration in the files, or in the ConfigMap, is not in force: its problems, or its rollback."""
    rolled_back: str = ""
    """The hash of that configuration if it is valid: it was in force, and was rolled back."""
    source: str = ""
    """`configmap <namespace>/<name>` if the configuration is from there; '': from the files."""


class CgroupDriverLearnt(Message, frozen=True):
    """The runtime reports its cgroup driver, which takes precedence over the configuration."""

    driver: str
    """cgroupfs or systemd."""


class ConfigMapAssigned(Message, frozen=True, kw_only=True):
    """The node's annotation names a ConfigMap; its `data` replaces the file. Empty `data`: the annotation is gone.

    Used with the feature gate DynamicKubeletConfig only.
    """

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    key: str = "kubelet"
    data: bytes = b""
    """The KubeletConfiguration, YAML or JSON."""
    coalesce: ClassVar[tuple[str, ...]] = ()
