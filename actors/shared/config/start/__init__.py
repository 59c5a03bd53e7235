"""What a start does before the tree is made.

steps.py            the steps in their order
host.py             the facts about this host that complete a configuration
preflight.py        what the host must fulfil
lock_file.py        --lock-file
layout.py           the directories with their modes
kernel_tunables.py  the sysctls that the agent sets or demands
"""
