#!/usr/bin/env bash
# Build the sample's program and its Windows image into bin/, and put its manifest beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
GOOS=windows go build -ldflags '-s -w' -o "$folder/webserver.exe" ./examples/webserver
bin/mullion image build "$folder" -f examples/webserver/image.yaml -o bin/webserver.tar
install -m 644 examples/win-webserver.yaml bin/win-webserver.yaml
