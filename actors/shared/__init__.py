"""What the actors have in common; nothing here imports an actor.

| package | what is in it | |---|---| | `admission` | the admission checks, one list | | `kube` | types of the
Kubernetes API, quantities, selectors, names of labels | | `config` | KubeletConfiguration, flags, drop-ins, validation,
the `Agent` that each actor is given | | `linux` | cgroups, mounts, files of other users, D-Bus and systemd | |
`tracing` | spans and their export | | `cri` | client of the container runtime | | `api` | client of the API server,
kubeconfigs | | `token_bucket` | a rate limit |
"""
