"""The steps of a start before the tree.

steps.py              the steps in their order
host.py               the facts about this host that complete a configuration
preflight.py          requirements on the host
lock_file.py          --lock-file
state_directories.py  the directories with their modes
kernel_tunables.py    the sysctls that the agent sets or checks
selinux_labels.py     the SELinux label of directories that plugins in containers use
open_files.py         whether the files that may be open are enough for a managed containerd
refused_starts.py     the last start where it was refused, in a file: `status` and `doctor` tell it
start_records.py      directories, endpoints and cgroup root of each start, in a file: `supervise reset` finds them
"""
