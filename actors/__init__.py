"""The node agent: one package for each actor of the tree, and their common code.

`tree.py` is the whole tree as one list. An actor's package holds its `messages.py` (the messages to it), `actor.py`
(what it does, thin) and the pure modules it decides with. `shared` (`kube`, `cri`, `config`, `linux` and others) is
below the actors and imports none of them; `agent` is the program around the tree.
"""

__project__ = "troupelet"
