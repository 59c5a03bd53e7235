"""Images of a registry that wants a password: with the pod's secrets, and with a file of the node."""

from __future__ import annotations

import base64

from tests.node.joined.test_contents import put
from tests.node.joined.test_pod_features import events, gone, within
from tests.support.joined import Joined, container, pod
from tests.support.registry import Registry


def has(site: Joined, name: str, reason: str, part: str) -> bool:
    return any(reason == one and part in text for one, text in events(site, name))


def test_a_pull_secret_opens_a_private_registry_and_a_wrong_one_does_not(site: Joined) -> None:
    with Registry(robot="secret") as registry:
        main = container("main", image=registry.image, imagePullPolicy="Always")
        site.create(pod("locked", main))
        within(60, lambda: has(site, "locked", "Failed", "Failed to pull image"), "refusal")
        gone(site, "locked")
        for name, user in (("wrong", "nobody"), ("right", "robot")):
            data = {".dockerconfigjson": base64.b64encode(registry.docker_config(user)).decode()}
            put(site, "secrets", name, type="kubernetes.io/dockerconfigjson", data=data)
        secrets = [{"name": "missing"}, {"name": "wrong"}, {"name": "right"}]
        site.create(pod("open", main, imagePullSecrets=secrets))
        within(60, lambda: has(site, "open", "Pulled", f'Successfully pulled image "{registry.image}"'), "pull")
        assert registry.users == {"robot"}
        assert has(site, "open", "FailedToRetrieveImagePullSecret", "(missing)")
        gone(site, "open")
