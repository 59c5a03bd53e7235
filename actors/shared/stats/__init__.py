"""Usage of the node, its pods and containers: CPU, memory, disks, network. Read on demand and cached for a while.

cgroup_usage.py     usage figures of one cgroup, from its files on cgroup v1 and v2 (cgroups(7), cgroup-v2.rst)
claimed_volumes.py  reads which claims the volumes of a pod come from
collector.py        takes samples of usage figures on demand, and caches each for a while
cpu_rates.py        the CPU rate of each cgroup, from two values of its CPU time
directory_size.py   the size of a directory that others write to: files with several names once
disk.py             the size of directories, and the free space of their file systems
disk_io.py          reads and writes of disks: by one cgroup, from v1's and v2's files, and in all
disk_usage.py       the disks of a sample: measured in disposable processes, because a disk may hang
hanging_paths.py    asks about many paths of which some may hang: in one disposable process for all
host.py             figures of the whole machine, from /proc (proc(5)) and psutil
own_cgroup.py       the agent's own cgroup
pod_cgroups.py      finds the cgroups of pods and containers by name, for every driver
pod_disks.py        the disk usage of pods, of which one volume that hangs costs only its own figures
processes.py        the processes of a container, from its cgroup and proc(5): their number and open files
sample.py           a sample: the figures of the node and its pods at one time
sandbox_images.py   the images of sandboxes, each asked for once
volume_figures.py   the figures of a volume that its CSI driver measures
"""
