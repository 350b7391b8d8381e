#!/usr/bin/env bash
# step.sh NAME COMMAND...: run a step quietly, print one line with its time; on failure print what it said.
set -uo pipefail
name=$1; shift
start=$(date +%s.%N)
[ -t 1 ] && printf '… %s' "$name"
log=$(mktemp); trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1; rc=$?
took=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN{printf "%.1fs", b-a}')
[ -t 1 ] && printf '\r\033[K'
if [ $rc -eq 0 ]; then printf 'ok   %-58s %8s\n' "$name" "$took"; else
  printf 'FAIL %-58s %8s\n' "$name" "$took"; cat "$log"; printf 'the command was: %s\n' "$*"; fi
exit $rc
