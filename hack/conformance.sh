#!/usr/bin/env bash
# conformance.sh SUITE: run a suite of Kubernetes' e2e tests on a cluster of its own (hack/SUITE.yaml, else a default one), which is removed at
# the end. The results stay in conformance-results. CONFORMANCE_FLAGS are further flags of `mullion conformance run`.
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(mktemp -d /var/tmp/mullion-conformance.XXXXXX)
trap 'bin/mullion --data-dir "$data" down' EXIT
file=()
[[ -f "hack/$1.yaml" ]] && file=(-f "hack/$1.yaml")
bin/mullion --data-dir "$data" up --kubeconfig none "${file[@]}"
# shellcheck disable=SC2086 # flags are words
bin/mullion --data-dir "$data" conformance run "$1" ${CONFORMANCE_FLAGS:-}
