#!/bin/bash
# Build the Debian package of what `make install` has staged: build.sh STAGE SUPERVISE OUT. Needs dpkg-deb only.
set -eu -o pipefail
stage=$1 supervise=$2 out=$3
here=$(dirname "$0")
place=$stage/opt/troupelet
python=$place/bin/python
version=$("$python" -c 'from actors.shared.config.version import OWN_VERSION; print(OWN_VERSION)')
minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
architecture=$(dpkg --print-architecture)
umask 022
rm -rf "$place/share/troupelet/etc/debian"  # what builds a package is no sample

find "$place" -name __pycache__ -type d -prune -exec rm -rf {} +
# the interpreter is the one of the distribution, whichever one built this
ln -sfn /usr/bin/python3 "$place/bin/python3"
ln -sfn python3 "$place/bin/python"
sed -i -e 's#^home = .*#home = /usr/bin#' -e '/^executable = /d' -e '/^command = /d' "$place/pyvenv.cfg"
# no drop-in of kubelet.service.d: it is in force as soon as the unit has the alias kubelet, and a node without kubeadm
# would not start. kubeadm's package brings it; share/troupelet/etc has one for nodes without that package
install -D -m 0644 "$here/../../etc/systemd/troupelet.service" "$stage/lib/systemd/system/troupelet.service"
install -D -m 0644 "$here/../../etc/kubelet-config.yaml" "$stage/etc/troupelet/config.yaml"
mkdir -p "$stage/usr/bin" "$stage/usr/share/doc/troupelet"
ln -sfn /opt/troupelet/bin/supervise "$stage/usr/bin/supervise"
ln -sfn /opt/troupelet/bin/kubelet "$stage/usr/bin/kubelet"
install -m 0644 "$here/../../LICENSE" "$stage/usr/share/doc/troupelet/copyright"
gzip -9nc "$here/../../CHANGELOG.md" >"$stage/usr/share/doc/troupelet/changelog.gz"
"$supervise" man "$stage/usr/share/man/man8" >/dev/null
gzip -9nf "$stage"/usr/share/man/man8/*.8

mkdir -p "$stage/DEBIAN"
size=$(du -sk --exclude=DEBIAN "$stage" | cut -f1)
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/" \
  -e "s/@PYTHON@/3.$minor/; s/@NEXT_PYTHON@/3.$((minor + 1))/" "$here/control.in" >"$stage/DEBIAN/control"
echo /etc/troupelet/config.yaml >"$stage/DEBIAN/conffiles"
install -m 0755 "$here/postinst" "$here/prerm" "$here/postrm" "$stage/DEBIAN/"
(cd "$stage" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
mkdir -p "$out"
chmod -R go-w "$stage"
chmod 0755 "$stage"
dpkg-deb --root-owner-group --build "$stage" "$out/troupelet_${version}_$architecture.deb" >/dev/null
ls "$out/troupelet_${version}_$architecture.deb"
