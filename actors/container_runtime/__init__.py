"""A containerd of the agent's own: `--container-runtime-endpoint=managed`.

A box of the tree, but a program rather than an actor: supervised like any other child, and containers survive it.
What is here is pure or runs before the tree does: where it keeps what (`instance`), what this machine has (`host`), its
configuration (`containerd_config`, `network`), making all that true (`prepare`, `program`), the first images (`images`,
`pause`, `oci`, `importing`), and taking everything away again (`cleanup`).

errors.py        the errors that keep a managed container runtime from starting
leaked_shims.py  shims of a managed runtime that belong to nothing
nat_rules.py     which NAT rules the CNI plug-ins made for one network, and how to take them out: text in, text out
presence.py      whether the container runtime's socket answers, with a hint when it does not
processes.py     the processes of a managed runtime that outlive it: found by what started them, ended
"""
