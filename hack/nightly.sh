#!/usr/bin/env bash
# nightly.sh [left | [again] [SUITE…]]: run what `make test` leaves out (hack/suite.sh night), one suite after the other, and keep how each ended in results/nightly.tsv:
# time, commit, target of make, outcome, seconds. A suite that has passed at this commit is left out, so that what was stopped goes on; "again" runs it too. With names
# of suites it runs these alone, so that a night's work can be done in several. A commit with a + had changes that were not committed.
# The results of rungs and of Kubernetes' own tests are copied to results/, to be committed. With "left" print the suites, and when each was kept last.
set -uo pipefail
cd "$(dirname "$0")/.."
kept=results/nightly.tsv
mapfile -t suites < <(hack/suite.sh night)
[ ${#suites[@]} -gt 0 ] || { echo "hack/suite.sh lists nothing" >&2; exit 1; }

again=''
[ "${1:-}" != again ] || { again=1; shift; }

# target SUITE: the target of make that runs it.
target() { case $1 in conformance-*) echo "$1" ;; *) echo "test-$1" ;; esac; }

if [ "${1:-}" = left ]; then
  echo "left to \`make nightly\` (time and outcome of the last run that is kept in $kept):"
  for suite in "${suites[@]}"; do
    name=$(target "${suite%%$'\t'*}"); what=${suite#*$'\t'}
    last=$([ -e "$kept" ] && awk -F'\t' -v p="$name" '$3 == p { last = $1 " " $2 " " $4 } END { print last }' "$kept")
    printf '  %-22s %-62s %s\n' "$name" "${what% \[*}" "${last:-no run is kept}"
  done
  exit 0
fi

# chosen SUITE: it was named, or none was.
names=" $* "
chosen() { [ "$names" = "  " ] || [[ $names == *" $1 "* ]]; }

for name in "$@"; do
  printf '%s\n' "${suites[@]}" | cut -f1 | grep -qxF -- "$name" || { echo "there is no suite $name; there are:" >&2; hack/suite.sh night >&2; exit 2; }
done

rc=0
mkdir -p results
began=$(mktemp); trap 'rm -f "$began"' EXIT
commit=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain -uno -- . ':!results')" ] || commit+=+
for suite in "${suites[@]}"; do
  chosen "${suite%%$'\t'*}" || continue
  name=$(target "${suite%%$'\t'*}"); start=$SECONDS; outcome=passed
  if [ -z "$again" ] && [ -e "$kept" ] && [[ $commit != *+ ]] &&
    awk -F'\t' -v p="$name" -v c="$commit" '$2 == c && $3 == p && $4 == "passed" { found = 1 } END { exit !found }' "$kept"; then
    echo "== $name: passed at $commit already (hack/nightly.sh again runs it again)"; continue
  fi
  echo "== $name: ${suite#*$'\t'}"
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
