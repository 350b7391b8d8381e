#!/usr/bin/env bash
# calico.sh FOLDER: lay out Calico for Windows below FOLDER from its module: windows/ has the scripts of upstream's image (node/Dockerfile-windows)
# beside calico-node.exe, and crds.yaml the kinds of the cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
module=$(go -C upstream/test/calico list -m -f '{{.Dir}}' github.com/projectcalico/calico)
scripts=$module/node/windows-packaging/CalicoWindows
install -m 644 -D "$module/manifests/crds.yaml" "$folder/crds.yaml"
install -m 644 -D "$scripts/config-hpc.ps1" "$folder/windows/config.ps1"
install -m 644 "$scripts/node/node-service.ps1" "$scripts/felix/felix-service.ps1" "$folder/windows/"
install -m 644 -D "$scripts/libs/calico/calico.psm1" "$folder/windows/libs/calico/calico.psm1"
install -m 644 -D examples/calico/windows/hns.psm1 "$folder/windows/libs/hns/hns.psm1"
