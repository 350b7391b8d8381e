#!/usr/bin/env bash
# transcript.sh [FILE]: run the lines of README.md's transcript and write what they print between its markers (FILE, default
# README.md). Without markers, or if a line fails, the file stays as it is, and the exit code says so.
#
# An ordinary user with sudo runs it, because that is who reads it: `sudo mullion up`, and then commands without root. Root
# may name such a user, for whom the lines are run: TRANSCRIPT_USER=NAME hack/transcript.sh. sudo must not ask for a password.
#
# Environment: MULLION, the program (default bin/mullion); TRANSCRIPT_FLAGS, flags of every mullion that the transcript does
# not show (--data-dir …); TRANSCRIPT_UP, flags of `mullion up` that it does not show (-f …); TRANSCRIPT_KEEP, not empty: the
# cluster stays.
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-README.md}
mullion=$(realpath "${MULLION:-bin/mullion}")
read -ra flags <<<"${TRANSCRIPT_FLAGS:-}"
read -ra up <<<"${TRANSCRIPT_UP:-}"
begin='<!-- transcript (written by hack/transcript.sh) -->' end='<!-- end of transcript -->'

for marker in "$begin" "$end"; do
  grep -qxF -- "$marker" "$file" || { echo "transcript.sh: $file has no line $marker" >&2; exit 1; }
done
[ -x "$mullion" ] || { echo "transcript.sh: there is no $mullion: make mullion" >&2; exit 3; }

user=()
if [ "$(id -u)" -eq 0 ]; then
  name=${TRANSCRIPT_USER:?as root, name the ordinary user for whom the lines are run}
  [ "$(id -u "$name")" -ne 0 ] || { echo "transcript.sh: $name is root; the transcript is an ordinary user's" >&2; exit 2; }
  user=(runuser -u "$name" --)
fi
"${user[@]}" sudo -n true || { echo "transcript.sh: this user may not use sudo, or sudo asks for a password" >&2; exit 3; }

work=$(mktemp -d)
finish() {
  rm -rf "$work"
  [ -n "${TRANSCRIPT_KEEP:-}" ] || "${user[@]}" sudo -n "$mullion" "${flags[@]}" down >&2 || true
}
trap finish EXIT

# as_user runs `[sudo] mullion ARGS`, with the flags that are not shown, and prints its standard output.
as_user() {
  local root=()
  if [ "$1" = sudo ]; then root=(sudo -n); shift; fi
  shift
  local args=("$@")
  if [ "$1" = up ]; then args+=("${up[@]}"); fi
  (cd / && "${user[@]}" "${root[@]}" "$mullion" "${flags[@]}" "${args[@]}")
}

# line runs a command line, and adds it with its output to the transcript. The output of `up` is its last word alone.
line() {
  echo "transcript.sh: $*" >&2
  # shellcheck disable=SC2068 # the words of the line
  as_user $@ >"$work/out"
  [ -s "$work/out" ] || { echo "transcript.sh: \`$*\` printed nothing" >&2; return 1; }
  printf '$ %s\n' "$*" >>"$work/transcript"
  if [ "$2" = mullion ] && [ "$3" = up ]; then
    echo '…' >>"$work/transcript"
    grep ' is ready after ' "$work/out" >>"$work/transcript" || { echo "transcript.sh: up does not say that the cluster is ready" >&2; return 1; }
  else
    sed '/^\r*$/d; s/\r$//; s/[[:space:]]*$//' "$work/out" >>"$work/transcript"
  fi
}

line sudo mullion up --sample
as_user mullion kubectl rollout status deployment/win-webserver --timeout 5m >&2
line mullion kubectl get nodes
line mullion kubectl exec deployment/win-webserver -- cmd /c ver

awk -v begin="$begin" -v end="$end" -v block="$work/transcript" '
  $0 == begin { print; print "```"; while ((getline text < block) > 0) print text; print "```"; inside = 1; next }
  $0 == end { inside = 0 }
  !inside' "$file" >"$work/file"
cat "$work/file" >"$file"
