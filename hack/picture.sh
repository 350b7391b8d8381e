#!/usr/bin/env bash
# picture.sh: take the picture of the page of conformance results, docs/conformance.png, anew. It needs a browser, which it installs.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/deps.sh test
hack/step.sh "take docs/conformance.png" go test -count=1 -tags conformance -run TestPagePicture ./internal/conformance/page -args -update
