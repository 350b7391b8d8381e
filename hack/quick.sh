#!/usr/bin/env bash
# quick.sh [go test's flags]: the tests of the pure rung that need no Kubernetes compiled: all packages but those that link its programs.
set -euo pipefail
cd "$(dirname "$0")/.."
all=$(go list -f '{{.ImportPath}}{{range .Deps}}{{if eq . "k8s.io/kubernetes/pkg/features"}} kubernetes{{end}}{{end}}' ./...)
mapfile -t quick < <(awk 'NF == 1' <<<"$all")
echo "left out, since they link Kubernetes:" $(awk 'NF > 1 {sub(".*/mullion/", "", $1); print $1}' <<<"$all")
go test -vet=off "$@" "${quick[@]}" | { grep -v -e '\[no test files\]' -e ^ok || true; }
echo "ok   ${#quick[@]} packages; make test-pure tests the others too"
