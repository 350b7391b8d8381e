#!/usr/bin/env bash
# storage.sh: run Kubernetes' e2e tests of External Storage for the tests' CSI driver (test/csi/csidriver), on a cluster of its own with a Linux and a
# Windows node, which is removed at the end. The results stay in conformance-results. FOCUS is another regular expression of specs, SKIP of those to leave
# out, CONFORMANCE_FLAGS are further flags of `mullion conformance run`.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d /var/tmp/mullion-storage.XXXXXX)
trap 'bin/mullion --data-dir "$work/data" down; rm -rf "$work/images" "$work/cluster.yaml"; rmdir "$work"' EXIT
mullion() { bin/mullion --data-dir "$work/data" "$@"; }
cat > "$work/cluster.yaml" <<'END'
apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-storage
networking: {underlaySubnet: 10.189.0.0/24, podSubnet: 10.189.128.0/17, serviceSubnet: 10.189.64.0/18}
nodes:
- {os: linux}
- {os: windows, windowsVersion: ltsc2022}
END
mullion up --kubeconfig none -f "$work/cluster.yaml"
mkdir -p "$work/images"/{windows,linux}
GOOS=windows CGO_ENABLED=0 go -C test/csi build -trimpath -ldflags '-s -w' -o "$work/images/windows/csidriver.exe" ./csidriver
CGO_ENABLED=0 go -C test/csi build -trimpath -ldflags '-s -w' -o "$work/images/linux/csidriver" ./csidriver
mullion image build "$work/images/windows" -f test/e2e/testdata/csidriver/image.yaml
mullion image build "$work/images/linux" --os linux -t mullion.local/e2e-csi-linux:v1
mullion image build bin/csi/linux --os linux -t mullion.local/csi-sidecars:v1
mullion kubectl create -f bin/csi/manifests/crds.yaml
mullion kubectl apply -f bin/csi/manifests/rbac.yaml -f test/e2e/testdata/csidriver/snapshotcontroller.yaml
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
sed "s/TOKEN}/$token}/" test/e2e/testdata/csidriver/driver.yaml | mullion kubectl apply -f -
for what in deployment/csi-folder daemonset/csi-folder-linux daemonset/csi-folder-windows; do
  mullion kubectl rollout status "$what" --timeout=180s
done
# shellcheck disable=SC2086 # flags are words
mullion conformance run --storage-driver test/e2e/testdata/csidriver/e2e.yaml --focus "${FOCUS:-External.Storage}" \
  --skip "${SKIP:-\[LinuxOnly\]|\[Slow\]|\[Serial\]|\[Disruptive\]|OffByDefault}" ${CONFORMANCE_FLAGS:-}
