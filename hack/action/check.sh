#!/usr/bin/env bash
# check.sh: looks at the manifests of INPUT_CHECK, paths one a line. Findings are the job's annotations.
set -euo pipefail
mapfile -t paths < <(printf '%s' "$INPUT_CHECK" | sed '/^[[:space:]]*$/d; s/^[[:space:]]*//; s/[[:space:]]*$//')
args=(-o github)
[ -z "$INPUT_WINDOWS_VERSIONS" ] || args+=(--windows-version "$INPUT_WINDOWS_VERSIONS")
[ -z "$INPUT_KUBERNETES_VERSION" ] || args+=(--kubernetes-version "$INPUT_KUBERNETES_VERSION")
code=0
mullion check "${args[@]}" -- "${paths[@]}" || code=$?
{
  echo '### mullion check'
  echo '```'
  args[1]=text
  mullion check "${args[@]}" -- "${paths[@]}" 2>&1 | tail -n 100 || true
  echo '```'
} >>"$GITHUB_STEP_SUMMARY"
exit "$code"
