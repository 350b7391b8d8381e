#!/usr/bin/env bash
# fuzz.sh TIME [PATTERN]: fuzz every target whose name matches, each for TIME (go test's -fuzztime). What it finds lies in
# the package's testdata/fuzz and is a case of its tests from then on.
set -uo pipefail
cd "$(dirname "$0")/.."
time=$1 pattern=${2:-.} rc=0
mapfile -t targets < <(grep -rn --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' internal guest 2>/dev/null | grep -E "$pattern")
[ ${#targets[@]} -gt 0 ] || { echo "no target matches $pattern" >&2; exit 2; }
for t in "${targets[@]}"; do
  file=${t%%:*} name=${t##* }
  begin=$SECONDS
  if out=$(go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 20x "./$(dirname "$file")" 2>&1); then
    echo "ok   $name $(tail -n 3 <<<"$out" | sed -n 's/.*execs: \([0-9]*\).*interesting: \(.*\)/\1 runs, \2/p' | tail -n 1) ($((SECONDS - begin)) s)"
  else
    echo "FAIL $name (./$(dirname "$file"))"; sed 's/^/     /' <<<"$out"; rc=1
  fi
done
exit $rc
