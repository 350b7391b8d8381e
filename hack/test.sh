#!/usr/bin/env bash
# test.sh RUNG...: run the rungs named, in order; every rung runs even if one before it failed.
set -uo pipefail
cd "$(dirname "$0")/.."
rc=0
rung=$(mktemp); trap 'rm -f "$rung"' EXIT
go build -o "$rung" ./hack/rung || exit 1
for name in "$@"; do
  if [ "$name" != pure ] && [ "$(id -u)" -ne 0 ]; then
    echo "rung $name needs root (network namespaces, mounts): run sudo make test, or make test-pure" >&2; rc=1; continue
  fi
  PATH=$PATH:/usr/sbin:/sbin "$rung" "$name" || rc=1
done
exit $rc
