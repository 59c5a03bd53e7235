#!/bin/bash
# Runs in the guest: a target of the kernel with two portals and one disk, and a disk of scsi_debug. Again: nothing.
set -eu
target=/sys/kernel/config/target
group=$target/iscsi/iqn.2003-01.org.example:disk/tpgt_1
modprobe -a iscsi_tcp iscsi_target_mod target_core_file
modprobe scsi_debug dev_size_mb=32
[ ! -d "$group" ] || exit 0
truncate -s 64M /root/disk0
mkdir -p $target/core/fileio_0/disk0
echo "fd_dev_name=/root/disk0,fd_dev_size=67108864" >$target/core/fileio_0/disk0/control
echo 1 >$target/core/fileio_0/disk0/enable
mkdir -p "$group/lun/lun_0"
ln -s $target/core/fileio_0/disk0 "$group/lun/lun_0/disk"
for address in 127.0.0.1 127.0.0.2; do mkdir -p "$group/np/$address:3260"; done
for setting in authentication=0 generate_node_acls=1 cache_dynamic_acls=1 demo_mode_write_protect=0; do
  echo "${setting#*=}" >"$group/attrib/${setting%=*}"
done
echo 1 >"$group/enable"
udevadm settle
