#!/usr/bin/env bash
# machine.sh NAME: boot one of the machines of the rung machines, and say how to log in: hack/machine.sh trixie.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/deps.sh machines
go run ./hack/build build sample
exec go run ./hack/machine "$@"
