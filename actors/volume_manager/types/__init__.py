"""The volume types of this agent, one module each.

To add one:

1. `actors/shared/kube/volumes.py`: the shape of its source, as a field of Volume, of PersistentVolumeSpec (in
   `persistent_volumes.py`) or of both, and what the API requires of it.
2. A module here: a `Mounter` with its `set_up`, and `TYPE`, the entry of the table: how the type is recognised, how
   its volumes are planned, what it needs, and how they are torn down where unmounting is not enough.
3. Its line in the table of `registry.py`.

System calls that may hang are functions in `actors/volume_manager/host/`, which `VolumeTools.calls` runs in disposable
processes.
"""
