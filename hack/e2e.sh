#!/usr/bin/env bash
# e2e.sh test|images: build Kubernetes' e2e tests (bin/e2e/e2e.test), or the programs of their images (bin/e2e/windows, linux, data).
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/bin/e2e
module=upstream/kubernetes
images=k8s.io/kubernetes/test/images
version=$(go -C $module list -m -f '{{.Version}}' k8s.io/kubernetes)
pkg=k8s.io/component-base/version
ldflags="-s -w -X $pkg.gitVersion=$version -X $pkg.gitMajor=1 -X $pkg.gitMinor=${version:3:2} -X $pkg.gitTreeState=clean -X $pkg.gitCommit=$version -X $pkg.buildDate=1970-01-01T00:00:00Z"
export CGO_ENABLED=0
mkdir -p "$out"/{windows,linux,data}

case ${1:-} in
test)
  [ -e "$out/e2e.test" ] || echo "…    the first build of the e2e tests takes a minute or two after \`make build\`"
  hack/step.sh "build e2e.test $version" env GOOS=linux go -C $module test -c -vet=off -trimpath -ldflags "$ldflags" -o "$out/e2e.test" k8s.io/kubernetes/test/e2e
  ;;
images)
  hack/step.sh "build agnhost.exe, resource-consumer.exe $version" env GOOS=windows \
    go -C $module build -trimpath -ldflags "$ldflags" -o "$out/windows/" $images/agnhost $images/resource-consumer $images/resource-consumer/consume-cpu
  hack/step.sh "build agnhost, resource-consumer $version" env GOOS=linux \
    go -C $module build -trimpath -ldflags "$ldflags" -o "$out/linux/" $images/agnhost $images/resource-consumer $images/resource-consumer/consume-cpu
  for os in windows linux; do
    hack/step.sh "build the shell and small programs of images ($os)" env GOOS=$os go -C test/images build -trimpath -ldflags '-s -w' -o "$out/$os/" ./busybox
  done
  source=$(go -C $module list -m -f '{{.Dir}}' k8s.io/kubernetes)/test/images
  install -m 644 "$source"/agnhost/porter/localhost.{crt,key} "$source"/agnhost/mounttest/filePermissions.ps1 "$out/data/"
  for pet in kitten nautilus; do mkdir -p "$out/data/$pet" && install -m 644 "$source"/$pet/html/* "$out/data/$pet/"; done
  ;;
*) echo "usage: hack/e2e.sh test|images" >&2; exit 2 ;;
esac
