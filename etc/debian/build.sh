#!/bin/bash
# Build the Debian package of what `make install` has staged below PREFIX: build.sh STAGE PREFIX OUT. Needs dpkg-dev.
# The same stage gives the same package: no time is in it but SOURCE_DATE_EPOCH.
set -eu -o pipefail
stage=$1 prefix=$2 out=$3
here=$(dirname "$(readlink -f "$0")")
place=$stage$prefix
python=$place/bin/python
version=$("$python" -c 'from actors.shared.config.version import OWN_VERSION; print(OWN_VERSION)')-1
minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
packages=$place/lib/python3.$minor/site-packages
architecture=$(dpkg --print-architecture)
umask 022
export LC_ALL=C TZ=UTC

# What an installation of its own has and a package has not: pip, scripts of libraries, tests, where it was built.
# Modules are compiled where the package is installed.
"$python" -m pip uninstall --quiet --yes --root-user-action=ignore setuptools pip
rm -rf "$place/include" "$place/lib64"
find "$packages" -type d \( -name test -o -name tests -o -name _tests -o -name testdata \) -prune -exec rm -rf {} +
find "$packages" -type f \( -name '*_test.py' -o -name conftest.py \) -delete
find "$place/bin" -mindepth 1 ! -name 'python*' ! -name supervise ! -name kubelet -delete
find "$place" -name __pycache__ -type d -prune -exec rm -rf {} +
find "$packages" \( -path '*.dist-info/RECORD' -o -path '*.dist-info/direct_url.json' \) -delete

# The interpreter is the one of the distribution, whichever one built this.
ln -sfn "$(realpath -ms --relative-to="$prefix/bin" /usr/bin/python3)" "$place/bin/python3"
ln -sfn python3 "$place/bin/python"
rm -f "$place/bin/python3.$minor"
sed -i -e 's#^home = .*#home = /usr/bin#' -e '/^executable = /d' -e '/^command = /d' "$place/pyvenv.cfg"

# Libraries come with debugging symbols, modes and first lines of their own.
find "$packages" -type f -exec chmod 0644 {} +
find "$packages" -type f -name '*.py' -exec sed -i '1{/^#!/d}' {} +
find "$packages" -type f -name '*.so*' -exec strip --strip-unneeded {} +

mkdir -p "$stage/usr/bin" "$stage/usr/share/doc/troupelet" "$stage/usr/share/lintian/overrides"
for each in man bash-completion zsh fish; do
  mv "$place/share/$each" "$stage/usr/share/$each"
done
mv "$stage/usr/share/zsh/site-functions" "$stage/usr/share/zsh/vendor-completions"
gzip -9nf "$stage"/usr/share/man/man8/*.8
for command in supervise kubelet; do
  ln -sfn "../${prefix#/usr/}/bin/$command" "$stage/usr/bin/$command"
done
# No drop-in of kubelet.service.d: it is in force as soon as the unit has the alias kubelet, and a node without kubeadm
# would not start. kubeadm's package brings it; share/troupelet/etc has one for nodes without that package.
unit=$stage/usr/lib/systemd/system/troupelet.service
install -D -m 0644 "$here/../systemd/troupelet.service" "$unit"
sed -i -e "s#/opt/troupelet/#$prefix/#" -e 's#^Documentation=.*#Documentation=man:supervise(8)#' -e '/^# A unit for/d' "$unit"
install -D -m 0644 "$here/../kubelet-config.yaml" "$stage/etc/troupelet/config.yaml"
install -m 0644 "$here/copyright" "$stage/usr/share/doc/troupelet/copyright"
sed -e "s#@PACKAGES@#${packages#"$stage/"}#" -e "s#@PLACE@#${prefix#/}#" "$here/lintian-overrides" >"$stage/usr/share/lintian/overrides/troupelet"
gzip -9nc "$here/../../CHANGELOG.md" >"$stage/usr/share/doc/troupelet/changelog.gz"
maintainer=$(sed -n 's/^Maintainer: //p' "$here/control.in")
printf 'troupelet (%s) unstable; urgency=medium\n\n  * What changed is in changelog.gz.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9nc >"$stage/usr/share/doc/troupelet/changelog.Debian.gz"

# What the libraries need of the distribution's: dpkg-shlibdeps wants a debian/control where it runs.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: troupelet\n\nPackage: troupelet\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && find "$packages" -name '*.so*' -type f -print0 | sort -z | xargs -0 dpkg-shlibdeps -O 2>"$work/said") || {
  cat "$work/said" >&2
  exit 1
}

mkdir -p "$stage/DEBIAN"
size=$(find "$stage" -path "$stage/DEBIAN" -prune -o \( -type f -printf '%s\n' \) | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/" \
  -e "s/@PYTHON@/3.$minor/; s/@NEXT_PYTHON@/3.$((minor + 1))/; s/@LIBRARIES@/${libraries#shlibs:Depends=}/" \
  "$here/control.in" >"$stage/DEBIAN/control"
echo /etc/troupelet/config.yaml >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do
  sed "s#@PREFIX@#$prefix#" "$here/$script" >"$stage/DEBIAN/$script"
  chmod 0755 "$stage/DEBIAN/$script"
done
(cd "$stage" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
chmod -R go-w "$stage"
chmod 0755 "$stage"
find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$out"
package=$out/troupelet_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$stage" "$package" >/dev/null
ls "$package"
