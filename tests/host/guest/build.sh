#!/bin/bash
# Build the disk of the guest: build.sh WHEEL IMAGES KEPT OUT. Needs root, debootstrap, mke2fs, network for the first time.
#   WHEEL   of the project
#   IMAGES  archive of container images, imported in the guest
#   KEPT    a directory: the root file system without the project is made there once, and again when the packages change
#   OUT     a directory for disk.img, swap.img, vmlinuz and initrd
set -eu -o pipefail
wheel=$1 images=$2 kept=$3 out=$4
here=$(dirname "$(readlink -f "$0")")
suite=trixie
mirror=${TROUPELET_TEST_DEBIAN:-http://deb.debian.org/debian}
packages=systemd-sysv,dbus,udev,kmod,procps,mount,util-linux,iproute2,iptables,e2fsprogs,ca-certificates
packages+=,linux-image-cloud-amd64,initramfs-tools,zstd,apparmor,qemu-guest-agent
packages+=,containerd,runc,crun,containernetworking-plugins,python3,python3-venv,open-iscsi
umask 022
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:/sbin

said() { # what a step says is shown when it fails
  "$@" >"$kept/log" 2>&1 || { tail -20 "$kept/log" >&2; exit 1; }
}
within() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

mkdir -p "$kept" "$out"
exec 9>"$kept/lock"
flock 9
root=$kept/root-$(printf '%s' "$suite $packages" | sha256sum | cut -c1-12)
if [ ! -d "$root" ]; then
  rm -rf --one-file-system "$kept"/root-* "$kept/half"
  said debootstrap --variant=minbase --include="$packages" "$suite" "$kept/half" "$mirror"
  mv "$kept/half" "$root"
fi

# What the guest's disk is read by, and nothing else: an emulated CPU unpacks it slowly.
cp -r "$here/files/." "$root"
if [ ! -e "$root/boot/small" ]; then
  said within update-initramfs -u
  touch "$root/boot/small"
fi
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd"

# The project, as `make install` installs it, with the pip configuration of this host.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ ! -e "$file" ] || cp -L "$file" "$root$file"
done
[ -x "$root/opt/troupelet/bin/pip" ] || said within python3 -m venv /opt/troupelet
cp "$wheel" "$root/root/"
wanted="/root/$(basename "$wheel")[top,completion]"
mapfile -t settings < <(env | grep '^PIP_' || true)
said within "${settings[@]}" /opt/troupelet/bin/python -m pip install "$wanted"
said within "${settings[@]}" /opt/troupelet/bin/python -m pip install --no-deps --force-reinstall "$wanted"
rm -f "$root/root/$(basename "$wheel")"
cp "$images" "$root/root/images.tar"
cp "$root/opt/troupelet/share/troupelet/etc/systemd/troupelet.service" "$root/etc/systemd/system/"

printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
printf 'nameserver 10.0.2.3\n' >"$root/etc/resolv.conf"
: >"$root/etc/machine-id"
said within systemctl enable systemd-networkd containerd serial-getty@ttyS0
said within systemctl mask systemd-networkd-wait-online.service systemd-timesyncd.service getty@tty1.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
# Debian's profiles are for programs that are not here; the runtime loads its own
find "$root/etc/apparmor.d" -maxdepth 1 -type f -delete

rm -f "$out/swap.img"
truncate -s 512M "$out/swap.img" # a disk of its own: mke2fs makes holes of a file's zeros, and swap has none
said mkswap "$out/swap.img"
rm -f "$out/disk.img"
truncate -s 8G "$out/disk.img"
said mke2fs -q -t ext4 -L root -d "$root" "$out/disk.img"
