#!/usr/bin/env bash
# quick.sh [go test's flags]: the tests of the pure rung that need no Kubernetes compiled: all packages but those that
# link its programs, they themselves or their tests.
set -euo pipefail
cd "$(dirname "$0")/.."
heavy=k8s.io/kubernetes/pkg/features # every program of Kubernetes links it
all=$(go list ./... | sort)
# A test binary is listed as PACKAGE.test, and a package that is compiled once more for a test as "PACKAGE [TEST]".
left=$(go list -test -f '{{$p := .ImportPath}}{{range .Deps}}{{if eq . "'$heavy'"}}{{$p}}{{end}}{{end}}' ./... |
  sed -e 's/ \[.*//' -e 's/\.test$//' -e 's/_test$//' | sort -u | grep .)
mapfile -t quick < <(comm -23 <(echo "$all") <(echo "$left"))
echo "left out, since they link Kubernetes:" ${left//mullion.dev\/mullion\//}
go test -vet=off "$@" "${quick[@]}" | { grep -v -e '\[no test files\]' -e ^ok || true; }
echo "ok   ${#quick[@]} packages; make test-pure tests the others too"
