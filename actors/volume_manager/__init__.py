"""Volumes of pods: mounted before the containers start, kept up to date, unmounted after they are removed.

- `messages`, `actor`: the orders of the pod workers, and their answers
- `types/`: the volume types, one module each, and how to add one
- `pod_mounts`: mounts the volumes of a pod; `failure_texts`: the events when that fails
- `volume_refresh`: refreshes volumes whose objects or tokens have changed
- `teardown`: unmounts and removes; `orphans`, `orphan_sweep`: find and remove directories of pods that no worker has
- `persistent_volumes/`: claims, and the volumes that they are bound to
- `files/`: the content of secret, configMap, projected and downwardAPI volumes, and its atomic update
- `pod_certificates/`: certificates of pods, requested, issued by a signer of the cluster, and renewed
- `csi/`: CSI drivers; `flex_volume/`: FlexVolume drivers
- `disks/`: network disks, of the types iscsi and fc
- `tools/`: the tools of the types; `host/`: system calls, which run in disposable processes where they may hang
- `shared_directories`: the directories of all pods and of plugins as shared mounts
- `volume_paths`: paths below a pod's directory
- `volume_metrics`: metrics of the volumes of pods: desired and mounted ones
"""
