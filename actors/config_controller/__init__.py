"""Holds the effective configuration, and changes it while the agent runs.

messages.py     what it is told, and what it tells
readers.py      which actor reads which field
trial.py        which configuration is in force: a state machine, pure
change.py       what of a new configuration can be put in force now, pure
watching.py     when to read the files again
actor.py        puts them together
commands.py     `supervise config history|rollback`
"""
