"""The node agent: one package for each actor of the tree, and the vocabulary they share.

`tree.py` is the whole tree as one list. An actor's package holds its `messages.py` (what it is told), `actor.py` (what
it does, thin) and the pure modules it decides with. Vocabulary (`kube`, `cri`, `config`, `linux`) is below the actors
and imports none of them.
"""

__project__ = "troupelet"
