#!/usr/bin/env bash
# e2edata.sh: lay out the files of the images of Kubernetes' e2e tests that are no programs in bin/e2e/data.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/bin/e2e/data
source=$(go -C upstream/cluster/kubernetes list -m -f '{{.Dir}}' k8s.io/kubernetes)/test/images
mkdir -p "$out"
install -m 644 "$source"/agnhost/porter/localhost.{crt,key} "$source"/agnhost/mounttest/filePermissions.ps1 "$out/"
for pet in kitten nautilus; do mkdir -p "$out/$pet" && install -m 644 "$source"/$pet/html/* "$out/$pet/"; done
