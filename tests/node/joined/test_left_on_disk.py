"""What a running pod has on the node's disk: nobody else gets near it, and a secret is in its volume and nowhere else.
Afterwards nothing of it is left, whatever the pod did to its volume."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from tests.node.joined.test_contents import put, run
from tests.support.joined import Joined, container, pod

CANARY = "canary-3f1c9a"
DEEP = "for i in $(seq 300); do mkdir d && cd d; done; cd /e; ln -s / root; mkfifo fifo; mkdir many; touch many/1"


def holders_of(text: str, *tops: Path) -> list[str]:
    """Regular files in which it stands, volumes left out, and what the agent takes away meanwhile."""
    found = []
    for top in tops:
        below = (Path(folder, name) for folder, _, names in os.walk(top) for name in names)
        for path in [top] if top.is_file() else below:
            if path.is_file() and not path.is_symlink() and "/volumes/" not in str(path):
                with suppress(FileNotFoundError):
                    found += [str(path)] if text.encode() in path.read_bytes() else []
    return found


def test_links_in_a_pods_directory_are_not_followed_and_are_removed_with_it(site: Joined) -> None:
    put(site, "secrets", "canary", stringData={"key": CANARY})
    variable = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "canary", "key": "key"}}}
    mounts = [{"name": "s", "mountPath": "/s"}, {"name": "e", "mountPath": "/e"}]
    mounts += [{"name": "e", "mountPath": "/b", "subPath": "a/b"}]
    volumes = [{"name": "s", "secret": {"secretName": "canary"}}, {"name": "e", "emptyDir": {}}]
    site.create(pod("left", container("main", volumeMounts=mounts, env=[variable]), volumes=volumes))
    site.wait_pods_ready("left")
    home = Path(site.node.home)
    own = home / "root/pods" / site.pod("left")["metadata"]["uid"]

    folders = [own, own / "volumes", own / "containers", own / "containers/main", own / "volume-subpaths/e"]
    folders += list((own / "volumes").iterdir())
    assert {str(each): oct(stat.S_IMODE(each.lstat().st_mode)) for each in folders} == dict.fromkeys(
        map(str, folders), "0o750"
    )
    assert run(site, "left", "cat", "/s/key") == CANARY
    assert holders_of(CANARY, home / "root", home / "log", home / "logs", site.node._run_dir) == []

    run(site, "left", "sh", "-c", f"cd /e; {DEEP}")
    site.delete("left")
    site.wait_no_pod("left")
    site.node.until(lambda: not os.path.lexists(own), "no directory of the pod")
    assert Path("/etc/passwd").exists()
