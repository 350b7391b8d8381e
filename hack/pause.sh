#!/usr/bin/env bash
# pause.sh FILE: compile Kubernetes' own pause.c for Windows, the first program of a pod on a node with containerd.exe.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$(go -C upstream/cluster/kubernetes list -m -f '{{.Dir}} {{.Version}}' k8s.io/kubernetes)
mkdir -p "$(dirname "$1")"
x86_64-w64-mingw32-gcc -Os -s -Wl,--no-insert-timestamp -DVERSION="${source#* }" -o "$1" "${source% *}/build/pause/windows/pause.c"
