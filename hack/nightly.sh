#!/usr/bin/env bash
# nightly.sh [left|again]: run what `make test` leaves out, one part after the other, and keep how each ended in results/nightly.tsv: time, commit, part,
# outcome, seconds. A part that has passed at this commit is left out, so that what was stopped goes on; "again" runs all. The results of rungs and of
# Kubernetes' own tests are copied to results/, to be committed. With "left" print the parts, and when each was kept last.
set -uo pipefail
cd "$(dirname "$0")/.."
kept=results/nightly.tsv
parts=(
  "test-field:long tests of the rung cluster: the programs of the field"
  "test-machines:every ordinary machine, emulated"
  "test-attack-guest:the suite of attacks in a guest that enforces SELinux's policy"
  "test-attack-each:every way to starve a machine, one after the other"
  "conformance-parallel:upstream's suite for a release, in parallel"
  "conformance-serial:upstream's serial suite"
  "conformance-hpa:upstream's autoscaling suite"
  "e2e-storage:upstream's storage suite with a CSI driver"
  "test-programs:the programs that people run, with each Wine"
  "test-wines:the rung wine with the Wine of each release of Debian"
  "test-documents:every sample of the documents"
  "test-units:all of upstream's unit tests for Windows"
  "test-skew:nodes of three minor versions"
  "fuzz:every fuzz target, a minute each"
  "chaos:200 kills by chance"
)

if [ "${1:-}" = left ]; then
  echo "left to \`make nightly\` (time and outcome of the last run that is kept in $kept):"
  for part in "${parts[@]}"; do
    last=$([ -e "$kept" ] && awk -F'\t' -v p="${part%%:*}" '$3 == p { last = $1 " " $2 " " $4 } END { print last }' "$kept")
    printf '  %-22s %-58s %s\n' "${part%%:*}" "${part#*:}" "${last:-no run is kept}"
  done
  exit 0
fi

rc=0
mkdir -p results
began=$(mktemp); trap 'rm -f "$began"' EXIT
commit=$(git rev-parse --short HEAD)
for part in "${parts[@]}"; do
  name=${part%%:*}; start=$SECONDS; outcome=passed
  if [ "${1:-}" != again ] && [ -e "$kept" ] &&
    awk -F'\t' -v p="$name" -v c="$commit" '$2 == c && $3 == p && $4 == "passed" { found = 1 } END { exit !found }' "$kept"; then
    echo "== $name: passed at $commit already (hack/nightly.sh again runs it again)"; continue
  fi
  echo "== $name: ${part#*:}"
  make --no-print-directory "$name" || { outcome=failed; rc=1; }
  printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$commit" "$name" "$outcome" "$((SECONDS - start))" >>"$kept"
done

# Results that were made meanwhile: of rungs by their names, of Kubernetes' own tests by their folders.
mapfile -t made < <({
  find .cache/results -newer "$began" -name '*.json' -printf '%h\n' 2>/dev/null | xargs -r -n1 basename
  find conformance-results -newer "$began" -name run.json -printf '%h\n' 2>/dev/null
} | sort -u)
[ ${#made[@]} -eq 0 ] || { go run ./hack/results keep "${made[@]}" && go run ./hack/figures && echo "commit results/, README.md and docs/"; } || rc=1
hack/nightly.sh left
exit $rc
