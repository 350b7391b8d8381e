#!/usr/bin/env bash
# csi.sh FOLDER: build upstream's CSI sidecars and csi-sanity below FOLDER: linux/ has the programs of the sidecars' image, manifests/ the kinds of
# snapshots and the sidecars' roles, from the same modules.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
module() { go -C upstream/csi list -m -f "$2" "github.com/kubernetes-csi/$1"; }
mkdir -p "$folder"/{linux,manifests}

# program FOLDER MODULE PACKAGE: build a program, which says its module's version.
program() {
  hack/step.sh "build $(basename "$3")" env GOOS=linux CGO_ENABLED=0 go -C upstream/csi build -trimpath \
    -ldflags "-s -w -X main.version=$(module "$2" '{{.Version}}')" -o "$1" "github.com/kubernetes-csi/$2/$3"
}
program "$folder/linux/" external-provisioner/v6 cmd/csi-provisioner
program "$folder/linux/" external-attacher/v4 cmd/csi-attacher
program "$folder/linux/" external-resizer/v2 cmd/csi-resizer
program "$folder/linux/" external-snapshotter/v8 cmd/csi-snapshotter
program "$folder/linux/" external-snapshotter/v8 cmd/snapshot-controller
program "$folder/" csi-test/v5 cmd/csi-sanity

join() { local out=$folder/manifests/$1; shift; for f in "$@"; do echo ---; cat "$f"; done > "$out"; }
join crds.yaml "$(module external-snapshotter/client/v8 '{{.Dir}}')"/config/crd/*snapshot.storage.k8s.io_*.yaml
snapshotter=$(module external-snapshotter/v8 '{{.Dir}}')/deploy/kubernetes
roles() { echo "$(module "$1" '{{.Dir}}')/deploy/kubernetes/rbac.yaml"; }
join rbac.yaml "$(roles external-provisioner/v6)" "$(roles external-attacher/v4)" "$(roles external-resizer/v2)" \
  "$snapshotter"/csi-snapshotter/rbac-csi-snapshotter.yaml "$snapshotter"/snapshot-controller/rbac-snapshot-controller.yaml
