#!/usr/bin/env bash
# bundle.sh VERSION: build bin/kubernetes/VERSION, a version's programs for Linux and Windows. upstream/kubernetes/go.mod has the version that Mullion comes
# with; each file N.mod there has another, which `go run ./hack/kubemod VERSION` writes.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-}
module=upstream/kubernetes
file=
for f in $module/*.mod; do
  if grep -q "^	k8s.io/kubernetes $version\$" "$f" || grep -q "^	k8s.io/kubernetes $version " "$f"; then file=$(basename "$f"); fi
done
if [ -z "$file" ]; then
  echo "no module file of $module has k8s.io/kubernetes $version; there are:" >&2
  grep -h '^	k8s.io/kubernetes v' $module/*.mod | awk '{print "  " $2}' | sort -V >&2
  echo "go run ./hack/kubemod $version writes one" >&2
  exit 1
fi
minor=${version#v1.}; minor=${minor%%.*}
pkg=k8s.io/component-base/version
ldflags="-s -w -X $pkg.gitVersion=$version -X $pkg.gitMajor=1 -X $pkg.gitMinor=$minor -X $pkg.gitTreeState=clean -X $pkg.gitCommit=$version"
ldflags+=" -X $pkg.buildDate=1970-01-01T00:00:00Z"
flags=(-trimpath -ldflags "$ldflags")
[ "$file" = go.mod ] || flags+=(-modfile "$file")
export CGO_ENABLED=0
to=$PWD/bin/kubernetes/$version
mkdir -p "$to"/{server,node}/bin
hack/step.sh "build hyperkube $version (control plane, kubelet, kubectl)" go -C $module build "${flags[@]}" -o "$to/server/bin/" ./hyperkube
# the programs that hyperkube is, by the name it is called as
for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do ln -sfn hyperkube "$to/server/bin/$name"; done
hack/step.sh "build kubelet.exe, kube-proxy.exe $version" env GOOS=windows \
  go -C $module build "${flags[@]}" -o "$to/node/bin/" k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes/cmd/kube-proxy
