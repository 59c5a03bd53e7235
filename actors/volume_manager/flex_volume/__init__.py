"""FlexVolume: volumes that a program of the node mounts, one program for each driver (volumePluginDir).

- `protocol`: what a driver is called with, and what its answer means
- `drivers`: the installed drivers, and calls of them
"""
