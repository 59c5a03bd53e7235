"""Holds the effective configuration, and changes it while the agent runs.

messages.py     what it is told and asked
sources.py      where the configuration and the supervision policy are read
candidates.py   the configurations that are known, by hash
in_force.py     what is in force, what is wanted, and who is to restart for it, pure
consumers.py    which fields may change, and which actors read them
trial.py        which configuration is in force: a state machine, pure
session.py      what an actor that starts reads of the configuration in force
watching.py     when to read the files again
actor.py        puts them together
commands.py     `supervise config history|rollback`
"""
