#!/usr/bin/env bash
# Check that the generated documents are what the program prints. Environment: as for update.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
hack/update.sh "$folder/compat" "$folder/check-rules.md" "$folder/diagnose.md"
if ! diff -ru -x machines -x programs -x documents docs/compat "$folder/compat" || ! diff -u docs/check-rules.md "$folder/check-rules.md" ||
  ! diff -u docs/diagnose.md "$folder/diagnose.md"; then
  echo "docs/compat, docs/check-rules.md or docs/diagnose.md is not what mullion prints: run make update and commit the result" >&2
  exit 1
fi
go run ./hack/figures -check
