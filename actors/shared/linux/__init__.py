"""Linux interfaces that Python lacks: mount, openat2, mountinfo, cgroup files. Several actors share them.

architecture.py      the architecture of this machine, by Go's name for it
confined_paths.py    opens and creates user-supplied paths without leaving their directory
cpu_list.py          CPU lists as the kernel writes them
cgroup_files.py      the files and directories of one cgroup
cgroup_hierarchy.py  one mounted cgroup hierarchy: how a cgroup is created and limited in it
cgroup_limits.py     the limits of a cgroup, and the files and systemd properties that set them on cgroup v1 and v2
cgroup_names.py      names of cgroups: a path of plain parts, and its form in each driver
cgroup_tree.py       the cgroup file systems of a host: v1, v2 or hybrid
command.py           runs a short host command with a clean environment and a deadline
directories.py       creates directories and missing parents with a given mode; finds the nearest that exists; lists one
host_addresses.py    the addresses of this host, from the kernel and from DNS
huge_page_pools.py   the kernel's pools of huge pages, one for each page size
inotify.py           watches files and directories with inotify(7), without blocking
symlinks.py          replaces symbolic links atomically
kernel_files.py      facts in one file of the kernel each: the boot, the online CPUs, SELinux, cgroup v2
listener_pid.py      which process listens on a Unix socket
memory.py            memory of the machine, from /proc/meminfo (proc_meminfo(5))
mountinfo.py         the mount table, /proc/<pid>/mountinfo
mount_calls.py       mount(2) and umount2(2), which Python lacks
oom_score.py         oom_score_adj: lowering it below a process's initial value needs CAP_SYS_RESOURCE
parent_death.py      commands that end together with their parent
path_owners.py       whether another user can change or replace what is at a path
presence.py          whether something is at a path, or cannot be seen
program.py           runs a program beside an actor, and ends it even if another process holds its pipes
psi.py               pressure stall information (PSI) of the kernel, of a cgroup or of the whole host
removal.py           removes a tree of untrusted files: never follows a symlink, never crosses into another mount
resolv_conf.py       resolv.conf: the resolver configuration of the host or a pod (resolv.conf(5))
root_directory.py    the root directory of a process: the host's, or a container's
services.py          the commands that start, stop and show a service of this host
subordinate_ids.py   the user and group IDs that the node may give to user namespaces of pods
system_bus.py        the client of the D-Bus system bus: calls of systemd and systemd-logind
systemd.py           whether systemd runs this host
"""
