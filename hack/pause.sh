#!/usr/bin/env bash
# pause.sh FILE: compile pause.exe, the program of upstream's pause image for Windows, from Kubernetes' module.
# As its own Makefile does (https://github.com/kubernetes/kubernetes/blob/v1.37.1/build/pause/Makefile), but for the time that it leaves out of the file.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
source=$(go -C upstream/cluster/kubernetes list -m -f '{{.Dir}}' k8s.io/kubernetes)/build/pause
version=$(sed -n 's/^TAG ?= //p' "$source/Makefile")
mkdir -p "$(dirname "$out")"
x86_64-w64-mingw32-gcc -DVERSION="v$version" -Os -Wall -Werror -static -s -Wl,--no-insert-timestamp -o "$out.tmp" "$source/windows/pause.c"
mv "$out.tmp" "$out"
