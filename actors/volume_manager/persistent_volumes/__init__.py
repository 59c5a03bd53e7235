"""PersistentVolumeClaims of pods, and the PersistentVolumes that they are bound to."""
