#!/usr/bin/env bash
# fastlint.sh: run the linters that need no types on the repository, and on the modules of their own in it. Left out are upstream's, those of tests'
# data, and those that only pin a program.
set -uo pipefail
cd "$(dirname "$0")/.."
rc=0
lint=$PWD/bin/golangci-lint
mapfile -t modules < <(find . \( -path ./bin -o -path ./upstream -o -name '.?*' -o -name testdata \) -prune -o -name go.mod -printf '%h\n' | sort)
for module in "${modules[@]}"; do
  [ -n "$(find "$module" -name '*.go' -not -path '*/testdata/*' -print -quit)" ] || continue
  (cd "$module" && "$lint" run --fast-only --allow-parallel-runners ./...) || { echo "in $module" >&2; rc=1; }
done
exit $rc
