#!/usr/bin/env bash
# try-wine.sh SUITE...: rung wine of the tests with the Wine of each release of Debian, in a root of that release, which is kept. Two folders are the
# machine's: this checkout, with what is built in it, and Go with its caches. It needs root and debootstrap.
# Environment: MULLION_WINE_TESTS (packages with spaces; default the whole rung), MULLION_MACHINES_CACHE.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo make test-wines" >&2; exit 1; }
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false

# The first process of the new root, in mount and PID namespaces of its own: all programs and mounts end with it. A user namespace, which every Windows
# container has, cannot be made in a mere chroot.
if [ "${1:-}" = --init ]; then
  root=$2; shift 2
  mount --bind "$root" "$root"
  for dir in "$PWD" "$(go env GOROOT)" "$(go env GOCACHE)" "$(go env GOMODCACHE)"; do mkdir -p "$root$dir"; mount --rbind "$dir" "$root$dir"; done
  checkout=$PWD go=$(go env GOROOT)/bin
  GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE); export GOCACHE GOMODCACHE
  echo "127.0.0.1 localhost" >"$root/etc/hosts"
  touch "$root/etc/nsswitch.conf" "$root/etc/resolv.conf" # files that tests mount others over
  cd "$root"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs tmpfs run
  pivot_root . mnt
  exec env PATH="$go:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LC_ALL=C chroot . sh -c 'umount -l /mnt; cd "$0" && exec "$@"' "$checkout" "$@"
fi

roots=${MULLION_MACHINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mullion/machines}
tests=(hack/test.sh wine)
# shellcheck disable=SC2206 # a list
[ -z "${MULLION_WINE_TESTS:-}" ] || tests=(go test -count=1 -vet=off -tags wine -p 1 -timeout 1h $MULLION_WINE_TESTS)
rc=0
for suite in "$@"; do
  root=$roots/wine-$suite
  if [ ! -e "$root" ]; then
    mkdir -p "$roots"; rm -rf --one-file-system "$root.new"
    # shellcheck disable=SC2046 # a list
    includes=$(printf '%s,' ca-certificates curl git $(hack/deps.sh list))
    hack/step.sh "debootstrap $suite, with what Mullion needs" debootstrap --variant=minbase --include="${includes%,}" "$suite" "$root.new"
    mv "$root.new" "$root"
  fi
  echo "== $suite: $(chroot "$root" dpkg-query -f '${Package} ${Version}' -W wine64)"
  unshare --mount --pid --fork --kill-child "$0" --init "$root" "${tests[@]}" || rc=1
done
exit $rc
