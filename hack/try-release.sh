#!/usr/bin/env bash
# try-release.sh SUITE...: install the Debian package of dist/ in a fresh root of each release of Debian, as the guide says, and use it: a cluster comes up,
# the sample answers, the cluster goes, the package goes, and nothing of either is left. It needs root and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo make test-release" >&2; exit 1; }
package=$(ls dist/mullion_*_amd64.deb) || { echo "there is no package in dist: make release" >&2; exit 1; }
[ "$(wc -l <<<"$package")" -eq 1 ] || { echo "dist has several packages: remove the old ones" >&2; exit 1; }

# What runs in a mount and PID namespace of its own, so that all mounts and programs end with it.
try() {
  local suite=$1 root=$2
  inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }
  # All files but what apt and dpkg keep of themselves, and the time zone's and libraries' caches.
  files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune -o -print | sort); }
  echo "== $suite: debootstrap"
  debootstrap --variant=minbase "$suite" "$root" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; return 1; }
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/run"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"; chmod 755 "$root/usr/sbin/policy-rc.d"
  inside apt-get -q update >>"$root.log" 2>&1
  # The packages that Mullion needs are there before, so that what is compared is its own.
  # shellcheck disable=SC2046 # a list
  inside apt-get -q install -y --no-install-recommends $(hack/deps.sh list) >>"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; return 1; }
  files >"$root.before"
  echo "== $suite: apt install ./$(basename "$package")"
  cp "$package" "$root/tmp/"
  inside apt-get -q install -y "/tmp/$(basename "$package")" >>"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; return 1; }
  inside mullion version
  inside mullion up --sample | tail -n 5
  inside sh -c 'mullion kubectl get nodes -o wide'
  local address; address=$(inside mullion kubectl get pods -l app=win-webserver -o 'jsonpath={.items[0].status.podIP}')
  echo "== $suite: http://$address/ answers"
  curl -fsS --retry 5 --retry-all-errors "http://$address/" | grep -i windows
  inside mullion down | tail -n 1
  inside apt-get -q purge -y mullion >>"$root.log" 2>&1
  files >"$root.after"
  diff "$root.before" "$root.after" | grep -v -e '\./root/\.kube' -e '\./etc/ld\.so\.cache' | grep '^[<>]' && { echo "$suite: these files differ after all is gone" >&2; return 1; }
  echo "== $suite: nothing is left"
}
if [ "${1:-}" = --inside ]; then
  shift; mount --make-rprivate /; try "$@"; exit
fi
for suite in "$@"; do
  work=$(mktemp -d)
  unshare --mount --pid --fork --kill-child --mount-proc "$0" --inside "$suite" "$work/root" && rc=0 || rc=$?
  rm -rf --one-file-system "$work"
  [ $rc -eq 0 ] || exit $rc
done
