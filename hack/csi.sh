#!/usr/bin/env bash
# csi.sh FOLDER: lay out the manifests of upstream's CSI sidecars in FOLDER/manifests: the kinds of snapshots and the sidecars' roles, from the modules
# that their programs are built from.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
module() {
  go -C upstream/test/csi mod download "github.com/kubernetes-csi/$1" # a module whose programs are not built is not there yet
  go -C upstream/test/csi list -m -f "$2" "github.com/kubernetes-csi/$1"
}
mkdir -p "$folder/manifests"

join() { local out=$folder/manifests/$1; shift; for f in "$@"; do echo ---; cat "$f"; done > "$out"; }
join crds.yaml "$(module external-snapshotter/client/v8 '{{.Dir}}')"/config/crd/*snapshot.storage.k8s.io_*.yaml
snapshotter=$(module external-snapshotter/v8 '{{.Dir}}')/deploy/kubernetes
roles() { echo "$(module "$1" '{{.Dir}}')/deploy/kubernetes/rbac.yaml"; }
join rbac.yaml "$(roles external-provisioner/v6)" "$(roles external-attacher/v4)" "$(roles external-resizer/v2)" \
  "$snapshotter"/csi-snapshotter/rbac-csi-snapshotter.yaml "$snapshotter"/snapshot-controller/rbac-snapshot-controller.yaml
