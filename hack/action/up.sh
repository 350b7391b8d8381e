#!/usr/bin/env bash
# up.sh: brings up the cluster that the action's inputs describe. Where that fails, what went wrong is in the job's log.
set -euo pipefail
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
cluster=()
[ -z "$INPUT_CONFIG" ] || cluster+=(-f "$INPUT_CONFIG")
[ -z "$INPUT_WINDOWS_VERSIONS" ] || cluster+=(--windows-version "$INPUT_WINDOWS_VERSIONS")
[ -z "$INPUT_KUBERNETES_VERSION" ] || cluster+=(--kubernetes-version "$INPUT_KUBERNETES_VERSION")
args=(--wait "$INPUT_WAIT" --retain "${cluster[@]}")
[ -z "${KUBECONFIG:-}" ] || args+=(--kubeconfig "$KUBECONFIG")
code=0
$sudo mullion up "${args[@]}" || code=$?
if [ "$code" -ne 0 ]; then
  echo '::group::mullion status'
  $sudo mullion status || true
  echo '::endgroup::'
  echo '::group::mullion doctor'
  $sudo mullion doctor "${cluster[@]}" || true
  echo '::endgroup::'
  echo "::error::the cluster did not come up (exit code $code): see mullion status and mullion doctor above; the action $(basename "${GITHUB_ACTION_REPOSITORY:-mullion}")/actions/logs keeps its logs"
fi
{
  echo '### Mullion'
  echo '```'
  $sudo mullion status 2>&1 || true
  echo '```'
} >>"$GITHUB_STEP_SUMMARY"
[ "$code" -eq 0 ] || exit "$code"
echo "kubeconfig=${KUBECONFIG:-$HOME/.kube/config}" >>"$GITHUB_OUTPUT"
