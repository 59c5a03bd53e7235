"""Holds the effective configuration, and changes it while the agent runs.

messages.py               its address and its messages
sources.py                reads and validates the configuration and the supervision policy
candidates.py             the known configurations, by hash
in_force.py               the configuration in force, the desired one, and the actors to restart, pure
running_configuration.py  puts a configuration in force, and has its consumers restarted
consumers.py              which fields may change, and which actors read them
trial.py                  which configuration is in force: a state machine, pure
trial_checks.py           checks the supervisors while a configuration is on trial
session.py                the file from which an actor that starts reads the configuration in force
watched_directories.py    the directories whose changes cause the files to be read again
file_watch.py             has the files read again after a change, and the agent stopped when its lock file is opened
actor.py                  connects these modules
commands.py               `supervise config history|rollback`
"""
