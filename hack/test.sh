#!/usr/bin/env bash
# test.sh RUNG...: run the rungs named, in order, those joined by "+" side by side; every rung runs even if one before it failed. Before rung pure
# come the tests of three modules of their own: the release tool, which hold what is built to the licences that a release may have, pkg, and
# lint's analyzer; and the linters that need no types, which take seconds.
set -uo pipefail
cd "$(dirname "$0")/.."
rc=0
rungs=()
rung=$(mktemp); trap 'rm -f "$rung"' EXIT
go build -o "$rung" ./hack/rung || exit 1
for name in "$@"; do
  if [ "$name" = pure ]; then
    hack/step.sh "test the release tool, and the licences of what is built" go -C hack/release test -count=1 ./... || rc=1
    hack/step.sh "test the packages for other programs" go -C pkg test -count=1 ./... || rc=1
    hack/step.sh "test the analyzer of lint" go -C hack/lint test -count=1 -vet=off ./breathe || rc=1
    hack/step.sh "build golangci-lint" go run ./hack/build golangci-lint || rc=1
    hack/step.sh "lint what needs no types (the rest is make lint)" hack/fastlint.sh || rc=1
  fi
  if [ "$name" != pure ] && [ "$(id -u)" -ne 0 ]; then
    echo "rung $name needs root (network namespaces, mounts): run sudo make test, or make test-pure" >&2; rc=1; continue
  fi
  if [ "$name" = machines ] && ! command -v qemu-system-x86_64 >/dev/null; then
    echo "rung machines skipped: qemu is not installed, and \"make deps FOR=machines\" did not install it"; continue
  fi
  rungs+=("$name")
done
[ ${#rungs[@]} -eq 0 ] || PATH=$PATH:/usr/sbin:/sbin "$rung" "${rungs[@]}" || rc=1
exit $rc
