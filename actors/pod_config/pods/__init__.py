"""One set of the pods of all sources, and the operations for its changes.

merged_pods.py    one pod for each UID and name
name_conflict.py  a pod waits until the old pod with its name has ended
config_seen.py    when each pod was first seen
gated_fields.py   drops fields whose gate is off
"""
