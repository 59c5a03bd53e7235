"""Volumes of pods: mounted before the containers start, kept up to date, unmounted after they are gone.

- `messages`, `actor`: orders of the pod workers, answers
- `types/`: the volume types, one module each, and how to add one
- `pod_mounts`: mounts what a pod asks for; `failure_texts`: what users are told when that fails
- `refresh`: sets up volumes again whose objects or tokens have changed
- `teardown`: unmounts and removes; `orphans`, `orphan_sweep`: directories of pods that nobody knows
- `persistent_volumes/`: claims, and the volumes that they are bound to
- `files/`: the content of secret, configMap, projected and downwardAPI volumes, and its atomic update
- `csi/`: storage drivers
- `tools/`: what the types act with; `host/`: system calls, which run in disposable processes where they may hang
- `layout`: paths below a pod's directory; `locks`: one operation for a pod at a time
"""
