"""What the config controller is told, and ConfigChanged, which it tells to the actors that read what changed.

An actor that can take a change while it runs has `config_controller` among its `feeders` and handles ConfigChanged; the
others keep what they were started with, and fields that only they read wait for a restart.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from supervision.message import Message


class ConfigChanged(Message, frozen=True):
    """The effective configuration, told to an actor when something it reads has changed, and when it starts late.

    `config` is JSON for actors.shared.config.sources.effective.from_json.
    """

    config: bytes
    fields: tuple[str, ...]
    """Top-level fields that differ from what the agent was started with or last told."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class GetConfigz(Message, frozen=True):
    """Asks for the effective configuration; answered with Configz."""


class Configz(Message, frozen=True):
    """`body` is the JSON that /configz serves: `{"kubeletconfig": {...}}`."""

    body: bytes


class GetFlagz(Message, frozen=True):
    """Asks for the command line; answered with Flagz."""


class Flagz(Message, frozen=True):
    """What /flagz and /statusz are made of."""

    flags: dict[str, str]
    """Every flag of the kubelet and of ours by name, without dashes, to its effective value as it would be written; the
    file's value where a flag sets a field that the file sets. Secrets are masked."""
    given: tuple[str, ...]
    """Those that are on the command line."""
    gates: dict[str, bool]
    """Every known feature gate with its effective value."""
    version: str
    """v1.36.2+troupelet.0.1.0"""


class CgroupDriverLearnt(Message, frozen=True):
    """The runtime has said which cgroup driver it uses, which wins over the configuration."""

    driver: str
    """cgroupfs or systemd."""


class ConfigMapAssigned(Message, frozen=True, kw_only=True):
    """The node's annotation names a ConfigMap, which says `data` in place of the file; empty: there is none any more.

    Heeded with the feature gate DynamicKubeletConfig only.
    """

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    key: str = "kubelet"
    data: bytes = b""
    """The KubeletConfiguration, YAML or JSON."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class GetConfigStatus(Message, frozen=True):
    """Asks which configuration is in force; answered with ConfigStatus."""


class HistoryEntry(msgspec.Struct, frozen=True):
    when: float
    """Seconds since the epoch."""
    hash: str
    what: str
    detail: str


class ConfigStatus(Message, frozen=True, kw_only=True):
    """Which configuration is in force, by hash; '' for none."""

    assigned: str
    current: str
    last_known_good: str
    trial_until: float
    """Seconds since the epoch; 0: no trial."""
    error: str
    """What is wrong with the files as they are now; '' for nothing."""
    pending: tuple[str, ...]
    """Fields that wait for a restart of the agent."""
    history: tuple[HistoryEntry, ...]


class RollBack(Message, frozen=True):
    """Go back to a configuration of the history, by hash; '' is the last known good. Answered with ConfigStatus."""

    hash: str = ""
