"""Finds the credentials for a pull, in order: the pod's secrets, the node's files, credential plug-ins."""

from __future__ import annotations

from .credential_plugins import Account, CredentialPlugins
from .image_reference import Reference, qualified
from .keyring import Credential, read_docker_config
from .messages import EnsureImage
from .node_credentials import NodeCredentials
from .pull_records import FoundCredential, ImagePullSecret


class CredentialLookup:
    """`plugins` is None if none are configured."""

    def __init__(self, node: NodeCredentials, plugins: CredentialPlugins | None) -> None:
        self._node, self._plugins = node, plugins

    async def find(self, question: EnsureImage, reference: Reference) -> list[FoundCredential]:
        """All matching credentials, each once."""
        sources = {
            ImagePullSecret(one.uid, question.namespace, one.name): read_docker_config([one.document])
            for one in question.pull_secrets
        }
        best = read_docker_config(one.document for one in question.pull_secrets).matching(reference.name)
        found = [
            FoundCredential(credential, source)
            for credential in best
            for source, keyring in sources.items()
            if credential in keyring.matching(reference.name)
        ]
        found += [FoundCredential(credential) for credential in self._node.keyring().matching(reference.name)]
        if self._plugins is not None:
            account = Account(question.namespace, question.service_account, question.pod_name, question.uid)
            found += await self._plugins.matching(qualified(reference.name), account)
        first: dict[Credential, FoundCredential] = {}
        for one in found:
            first.setdefault(one.credential, one)
        return list(first.values())
