#!/usr/bin/env bash
# test.sh RUNG...: run the rungs named, in order, those joined by "+" side by side; every rung runs even if one before it failed.
set -uo pipefail
cd "$(dirname "$0")/.."
rc=0
rungs=()
rung=$(mktemp); trap 'rm -f "$rung"' EXIT
go build -o "$rung" ./hack/rung || exit 1
for name in "$@"; do
  if [ "$name" != pure ] && [ "$(id -u)" -ne 0 ]; then
    echo "rung $name needs root (network namespaces, mounts): run sudo make test, or make test-pure" >&2; rc=1; continue
  fi
  if [ "$name" = machines ] && ! command -v qemu-system-x86_64 >/dev/null; then
    echo "rung machines skipped: qemu is not installed, and \"make machines-deps\" did not install it"; continue
  fi
  rungs+=("$name")
done
[ ${#rungs[@]} -eq 0 ] || PATH=$PATH:/usr/sbin:/sbin "$rung" "${rungs[@]}" || rc=1
exit $rc
