#!/usr/bin/env bash
# try-package.sh: unpack the tarballs of dist/ below a new prefix, and run the attack suite and suite smoke of Kubernetes' e2e tests on the programs there.
# It needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "clusters need root: run sudo make test-package" >&2; exit 1; }
prefix=$(mktemp -d /var/tmp/mullion-package.XXXXXX)
trap 'rm -rf --one-file-system "$prefix"' EXIT
shopt -s nullglob
tarballs=(dist/mullion-*-linux-amd64.tar.gz)
[ ${#tarballs[@]} -ge 3 ] || { echo "dist lacks tarballs of mullion, mullion-kubernetes or mullion-e2e: make release" >&2; exit 1; }
chmod 755 "$prefix"
for file in "${tarballs[@]}"; do
  hack/step.sh "unpack ${file#dist/}" tar -C "$prefix" --strip-components=1 -xf "$file"
done
"$prefix/bin/mullion" version
export MULLION_BIN=$prefix/lib/mullion PATH=$PATH:/usr/sbin:/sbin CGO_ENABLED=0
go test -count=1 -vet=off -tags cluster -timeout 30m -v -run TestAttacks ./test/attack | grep -v '^ *attack_test.go.*held' # what held is many lines
go test -count=1 -vet=off -tags conformance -timeout 30m -run TestConformance ./test/e2e
