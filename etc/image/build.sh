#!/bin/bash
# Build the OCI image of a Debian package: build.sh PACKAGE PYTHON OUT. Needs root, debootstrap and the distribution's mirror,
# no daemon and no registry. The same package on the same packages of the distribution gives the same image.
set -eu -o pipefail
package=$1 python=$2 out=$3
here=$(dirname "$(readlink -f "$0")")
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
umask 022
export LC_ALL=C.UTF-8 TZ=UTC

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root" "$root".{log,tar}' EXIT
chmod 0755 "$root"
debootstrap --variant=minbase --include=python3,iproute2,iptables "$suite" "$root" >"$root.log" 2>&1 || {
  tail -5 "$root.log" >&2
  exit 1
}
rm -f "$root.log"
install -m 0644 "$package" "$root/troupelet.deb"
DEBIAN_FRONTEND=noninteractive chroot "$root" dpkg --install /troupelet.deb >/dev/null

# what differs from build to build, what is the host's, and what can be had again
rm -rf "$root"/{troupelet.deb,debootstrap,etc/machine-id,etc/hostname,etc/resolv.conf} "$root"/var/lib/dpkg/*-old \
  "$root"/var/cache/{ldconfig/aux-cache,debconf/*-old} "$root"/usr/share/{locale,info} "$root"/tmp/* "$root"/var/tmp/*
find "$root"/var/log "$root"/var/lib/apt/lists "$root"/var/cache/apt -type f -delete
find "$root"/dev -mindepth 1 -delete

tar --create --directory="$root" --one-file-system --format=gnu --sort=name --numeric-owner \
  --mtime="@$SOURCE_DATE_EPOCH" --clamp-mtime --file="$root.tar" .
mkdir -p "$out"
"$python" "$here/layout.py" "$root.tar" "$out"
