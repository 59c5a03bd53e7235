"""A containerd of the agent's own: `--container-runtime-endpoint=managed`.

A box of the tree, but a program rather than an actor: supervised like any other child, and containers survive it.
What is here is pure or runs before the tree does: where it keeps what (`instance`), what this machine has (`host`), its
configuration (`containerd_config`, `network`), making all that true (`prepare`, `program`), the first images (`images`,
`pause`, `oci`, `importing`), and taking everything away again (`cleanup`).
"""
