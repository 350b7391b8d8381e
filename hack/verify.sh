#!/usr/bin/env bash
# Check that the generated documents are what the program prints. Environment: as for update.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
hack/update.sh "$folder"
if ! diff -ru docs/compat "$folder"; then
  echo "docs/compat is not what mullion support prints: run make update and commit the result" >&2
  exit 1
fi
