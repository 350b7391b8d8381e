#!/usr/bin/env bash
# try-programs.sh SUITE...: the programs of test/programs with the Wine of each release of Debian: with this machine's own Wine if it has that release, else in
# a root of that release, which is kept. It needs root and debootstrap.
# Environment: MULLION_PROGRAMS (IDs with commas, default all), MULLION_PROGRAMS_RECORD (store the results in docs/compat/programs), MULLION_PROGRAMS_CACHE,
# MULLION_MACHINES_CACHE.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo make test-programs" >&2; exit 1; }
export MULLION_PROGRAMS=${MULLION_PROGRAMS:-all} CGO_ENABLED=0
export MULLION_PROGRAMS_CACHE=${MULLION_PROGRAMS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mullion-test-programs}
MULLION_PROGRAMS_COMMIT=$(git rev-parse --short HEAD); export MULLION_PROGRAMS_COMMIT
roots=${MULLION_MACHINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mullion/machines}
test=$PWD/bin/programs.test
hack/step.sh "build the test" go test -c -vet=off -tags wine -o "$test" ./test/programs
cd test/programs
MULLION_PROGRAMS_FETCH=1 "$test" -test.run '^TestSources$' -test.timeout 2h
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
rc=0
for suite in "$@"; do
  echo "== $suite"
  if [ "$suite" = "$own" ]; then "$test" -test.v -test.run '^TestPrograms$' -test.timeout 3h || rc=1; continue; fi
  root=$roots/programs-$suite
  if [ ! -e "$root" ]; then
    mkdir -p "$roots"; rm -rf --one-file-system "$root.new"
    debootstrap --variant=minbase --include=wine64,wine64-preloader "$suite" "$root.new" >"$roots/programs-$suite.log" || { tail "$roots/programs-$suite.log" >&2; exit 1; }
    mv "$root.new" "$root"
  fi
  # The test's processes and mounts end with it.
  # shellcheck disable=SC2016 # for the shell inside
  unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 checkout=$2 cache=$3 test=$4
    for d in "$checkout" "$cache"; do mkdir -p "$root$d"; mount --rbind "$d" "$root$d"; done
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mkdir -p "$root/tmp"
    echo "127.0.0.1 localhost" >"$root/etc/hosts"
    exec chroot "$root" sh -c "cd \"$checkout/test/programs\" && exec \"$test\" -test.v -test.run ^TestPrograms\$ -test.timeout 3h"
  ' bash "$root" "$(cd ../.. && pwd)" "$MULLION_PROGRAMS_CACHE" "$test" || rc=1
done
exit $rc
