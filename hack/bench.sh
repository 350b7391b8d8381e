#!/usr/bin/env bash
# Measure the figures on this machine and print a table.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./hack/bench "$@"
