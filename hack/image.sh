#!/usr/bin/env bash
# image.sh VERSION SECONDS: make dist/mullion_VERSION_image.tar, a container image of the Debian packages of dist/ on Debian 13, for `docker load` and
# `podman load`. All files have the date SECONDS (since 1970). It needs root and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1 seconds=$2 suite=trixie
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo make image" >&2; exit 1; }
packages=(dist/mullion_*_amd64.deb)
[ -e "${packages[0]}" ] || { echo "there is no package in dist: make release" >&2; exit 1; }
[ ${#packages[@]} -eq 1 ] || { echo "dist has several packages: remove the old ones" >&2; exit 1; }
packages+=(dist/mullion-kubernetes-*_amd64.deb) # a bundle of each minor version
work=$(mktemp -d); trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
# shellcheck disable=SC2046 # a list
includes=$(printf '%s,' ca-certificates $(hack/deps.sh list))
hack/step.sh "debootstrap $suite, with what Mullion needs" debootstrap --variant=minbase --include="${includes%,}" "$suite" "$root"
mkdir "$root/packages"
cp "${packages[@]}" "$root/packages/"
hack/step.sh "install ${packages[*]#dist/}" chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C dpkg -i "${packages[@]/#dist//packages}"
rm -rf "$root"/packages "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/var/cache/ldconfig/* "$root"/var/cache/debconf/*-old \
  "$root"/var/lib/dpkg/*-old "$root"/tmp/* "$root"/run/* "$root"/etc/machine-id "$root"/etc/hostname "$root"/etc/resolv.conf "$root"/dev/*
hack/step.sh "pack the layer" tar --create --file "$work/layer.tar" --directory "$root" --sort=name --numeric-owner --mtime="@$seconds" --clamp-mtime \
  --format=gnu .
hack/step.sh "make dist/mullion_${version#v}_image.tar" go run ./hack/image -version "$version" -time "$seconds" -layer "$work/layer.tar" \
  -o "dist/mullion_${version#v}_image.tar"
