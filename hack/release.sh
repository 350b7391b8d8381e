#!/usr/bin/env bash
# release.sh VERSION KUBERNETES: build all and make dist: tarball, .deb and .rpm of Mullion, of its bundle of Kubernetes and of its e2e tests, and the checker
# alone for Linux, macOS and Windows. Environment: BUNDLES (versions of further bundles), URL (where people will get the files: for krew's manifest).
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1 kubernetes=$2
export MULLION_VERSION=$version
ldflags="-s -w -X mullion.dev/mullion/internal/base/version.version=$version"
time=$(git log -1 --format=%ct)

go run ./hack/build build sample e2e
for bundle in ${BUNDLES:-}; do go run ./hack/build -kubernetes "$bundle" bundle; done
for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do
  os=${platform%/*} arch=${platform#*/} ending=
  [ "$os" != windows ] || ending=.exe
  hack/step.sh "build kubectl-mullion for $platform" env GOOS="$os" GOARCH="$arch" go build -trimpath -ldflags "$ldflags" \
    -o "bin/plugin/$os-$arch/kubectl-mullion$ending" ./cmd/kubectl-mullion
done

mkdir -p dist
rm -f dist/mullion[_-]* dist/kubectl-mullion-* dist/mullion.yaml dist/SHA256SUMS
trap 'rm -rf dist/.release dist/.man' EXIT
hack/step.sh "build the release tool" go -C hack/release build -o "$PWD/dist/.release" .
hack/step.sh "write the manual pages" go run -ldflags "$ldflags" ./hack/man -time "$time" dist/.man
hack/step.sh "make the packages of $version" dist/.release -version "$version" -kubernetes "$kubernetes" -others "${BUNDLES:-}" -url "${URL:-}" \
  -man dist/.man -time "$time"
ls -l dist
